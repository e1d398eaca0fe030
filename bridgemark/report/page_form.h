#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

// How a page is put together from a form and what it shows.
namespace bridgemark {

// Puts the values in place of {{name}}; what they say themselves is left alone.
std::string fill_page(std::string_view form, const std::map<std::string, std::string>& values);

// Data for an element <script type="application/json">: what it says cannot end that element.
std::string json_in_html(const nlohmann::json& value);

}  // namespace bridgemark
