#include "bridgemark/report/standing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "bridgemark/metric/estimate.h"
#include "bridgemark/metric/paired_comparison.h"
#include "bridgemark/pair/pair_spec.h"

namespace bridgemark {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

double student_half_width(std::size_t count, double standard_error) {
  return count < 2
             ? kNone
             : student_quantile(static_cast<int>(count) - 1, kStandingConfidence) * standard_error;
}

// What a method has of one pair.
struct Measured {
  bool known = false;
  double distance = kNone;  // joint KL by D
  bool upper_bound = false;
  double draws = kNone;   // conditional trend
  double gained = kNone;  // of it, over Independent's
  double room = kNone;    // the Oracle's over Independent's
};

using MethodKey = std::tuple<std::string, std::string, std::string, std::string>;

struct Method {
  const TableRow* row = nullptr;
  std::vector<Measured> at;  // of each pair of the suite
};

// A set of pairs, by their numbers.
using Chosen = std::vector<std::size_t>;

bool states_joint_kl(const Measured& measured) {
  return !std::isnan(measured.distance) && !measured.upper_bound;
}

class Suite {
 public:
  // `tables` are of one number of rows.
  explicit Suite(const std::vector<const Table*>& tables) {
    for (const Table* table : tables) {
      if (table->score->deciding_place > 0) find_pairs(*table);
    }
    keep_pairs_of_the_oracle();
    for (const Table* table : tables) {
      if (table->score->deciding_place == 2) read_draws(*table);
      if (table->score->deciding_place == 1) read_distances(*table);
    }
  }

  const std::vector<std::string>& pairs() const { return pairs_; }
  const std::vector<Method>& methods() const { return methods_; }

  std::vector<PairGroup> groups() const {
    std::map<std::tuple<bool, int, int>, PairGroup> groups;
    for (const std::string& pair : pairs_) {
      const std::optional<PairSpec> spec = find_preset(pair);
      const std::string_view family = spec ? pair_family_name(spec->family) : "own";
      const bool reverse = reversed_.contains(pair);
      const int dim = dims_.at(pair);
      const int place = spec ? static_cast<int>(spec->family) : std::numeric_limits<int>::max();
      PairGroup& group = groups[{reverse, place, dim}];
      group.family = family;
      group.dim = dim;
      group.reverse = reverse;
      group.pairs.push_back(pair);
    }
    std::vector<PairGroup> all;
    for (auto& [key, group] : groups) all.push_back(std::move(group));
    return all;
  }

  Chosen numbers(const std::vector<std::string>& pairs) const {
    Chosen chosen;
    for (const std::string& pair : pairs) chosen.push_back(numbers_.at(pair));
    return chosen;
  }

 private:
  void find_pairs(const Table& table) {
    for (const TableRow& row : table.rows) {
      for (std::size_t i = 0; i < table.pairs.size(); ++i) {
        if (!row.cells[i].measured()) continue;
        const std::string& pair = table.pairs[i];
        if (dims_.emplace(pair, std::max(1, row.cells[i].runs[0]->dim)).second) {
          pairs_.push_back(pair);
        }
        if (table.reversed_pairs) reversed_.insert(pair);
        if (row.oracle) of_oracle_.insert(pair);
      }
    }
  }

  void keep_pairs_of_the_oracle() {
    if (!of_oracle_.empty()) {
      std::erase_if(pairs_, [&](const std::string& pair) { return !of_oracle_.contains(pair); });
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) numbers_[pairs_[i]] = i;
  }

  Measured& at(const TableRow& row, std::size_t pair) {
    const auto [found, is_new] = method_of_.emplace(
        MethodKey{row.solver, row.method, row.loss, row.num_steps}, methods_.size());
    if (is_new) methods_.push_back({&row, std::vector<Measured>(pairs_.size())});
    return methods_[found->second].at[pair];
  }

  // Calls read(cell, number of the pair, measured) for each row of ours.
  template <typename Read>
  void each_cell(const Table& table, Read&& read) {
    for (const TableRow& row : table.rows) {
      if (row.oracle) continue;
      for (std::size_t i = 0; i < table.pairs.size(); ++i) {
        const auto number = numbers_.find(table.pairs[i]);
        if (number == numbers_.end() || !row.cells[i].measured()) continue;
        Measured& measured = at(row, number->second);
        measured.known = true;
        read(row.cells[i], i, measured);
      }
    }
  }

  void read_draws(const Table& table) {
    std::vector<double> oracle(table.pairs.size(), kNone), independent(table.pairs.size(), kNone);
    for (const TableRow& row : table.rows) {
      for (std::size_t i = 0; i < table.pairs.size(); ++i) {
        if (!row.cells[i].measured()) continue;
        if (row.oracle) oracle[i] = row.cells[i].mean;
        if (row.solver == "independent") independent[i] = row.cells[i].mean;
      }
    }
    each_cell(table, [&](const TableCell& cell, std::size_t i, Measured& measured) {
      measured.draws = cell.mean;
      measured.gained = cell.mean - independent[i];
      measured.room = oracle[i] - independent[i];
    });
  }

  void read_distances(const Table& table) {
    each_cell(table, [&](const TableCell& cell, std::size_t i, Measured& measured) {
      measured.distance = cell.mean / dims_.at(table.pairs[i]);
      measured.upper_bound = cell.bound_change.has_value();
    });
  }

  std::vector<std::string> pairs_;
  std::set<std::string> of_oracle_, reversed_;
  std::map<std::string, int> dims_;
  std::map<std::string, std::size_t> numbers_;
  std::vector<Method> methods_;
  std::map<MethodKey, std::size_t> method_of_;
};

Reach reach_of(const Method& method, const Chosen& chosen) {
  Reach reach;
  std::vector<double> distances, gained, room;
  for (const std::size_t i : chosen) {
    const Measured& here = method.at[i];
    if (!here.known) continue;
    ++reach.pairs;
    reach.upper_bound |= here.upper_bound;
    distances.push_back(here.distance);
    gained.push_back(here.gained);
    room.push_back(here.room);
  }
  reach.distance = mean_over_pairs(distances);
  reach.share = ratio_over_pairs(gained, room);
  return reach;
}

// How much nearer to the truth `a` is than `b`.
Lead compare(const Method& a, const Method& b, const Chosen& chosen) {
  Chosen both;
  for (const std::size_t i : chosen) {
    if (a.at[i].known && b.at[i].known) both.push_back(i);
  }
  Lead lead;
  lead.pairs = both.size();
  lead.by_draws = !std::ranges::all_of(
      both, [&](std::size_t i) { return states_joint_kl(a.at[i]) && states_joint_kl(b.at[i]); });
  std::vector<double> differences, room;
  for (const std::size_t i : both) {
    differences.push_back(lead.by_draws ? a.at[i].draws - b.at[i].draws
                                        : b.at[i].distance - a.at[i].distance);
    room.push_back(a.at[i].room);
    lead.nearer += differences.back() > 0.0;
  }
  if (lead.by_draws) lead.difference = ratio_over_pairs(differences, room);
  // Without Independent the trend itself.
  if (std::isnan(lead.difference.mean)) lead.difference = mean_over_pairs(differences);
  return lead;
}

// The numbers of the methods in their order.
struct Order {
  std::vector<std::size_t> methods;
  std::map<std::size_t, std::size_t> ahead;
  std::size_t places = 0;
};

Order order_of(const Suite& suite, const Chosen& chosen) {
  const std::vector<Method>& methods = suite.methods();
  std::map<std::size_t, Reach> reach;
  std::vector<std::size_t> ranked, by_draws, partial;
  for (std::size_t m = 0; m < methods.size(); ++m) {
    reach[m] = reach_of(methods[m], chosen);
    if (reach[m].pairs == 0) continue;
    const bool stated = !std::isnan(reach[m].distance.mean) && !reach[m].upper_bound;
    (reach[m].pairs < chosen.size() ? partial : stated ? ranked : by_draws).push_back(m);
  }
  std::ranges::stable_sort(ranked, {}, [&](std::size_t m) { return reach[m].distance.mean; });
  Order order;
  for (std::size_t i = 0; i < ranked.size(); ++i) order.ahead[ranked[i]] = i;
  for (const std::size_t m : by_draws) {
    std::size_t& ahead = order.ahead[m];
    for (std::size_t i = 0; i < ranked.size(); ++i) {
      if (std::isinf(reach[ranked[i]].distance.mean)) break;  // so are all that follow
      if (!compare(methods[m], methods[ranked[i]], chosen).separated()) ahead = i + 1;
    }
  }
  for (const std::size_t m : partial) {
    order.ahead[m] = static_cast<std::size_t>(std::ranges::count_if(ranked, [&](std::size_t r) {
      return compare(methods[r], methods[m], chosen).difference.mean > 0.0;
    }));
  }
  const auto share = [&](std::size_t m) {
    const double value = reach[m].share.mean;
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  std::ranges::stable_sort(by_draws, std::greater<>(), share);
  std::ranges::stable_sort(partial, std::greater<>(),
                           [&](std::size_t m) { return std::pair(reach[m].pairs, share(m)); });
  for (std::size_t i = 0; i <= ranked.size(); ++i) {
    for (const std::size_t m : by_draws) {
      if (order.ahead[m] == i) order.methods.push_back(m);
    }
    if (i < ranked.size()) order.methods.push_back(ranked[i]);
  }
  order.places = order.methods.size();
  order.methods.insert(order.methods.end(), partial.begin(), partial.end());
  return order;
}

// Whether a method of some pairs stands before the first on these.
bool is_nearer(const Method& method, const Method& first, const Chosen& all) {
  const Lead lead = compare(method, first, all);
  if (lead.pairs == 0) return false;
  return all.size() > 2 ? lead.separated() : lead.difference.mean > 0.0;
}

// Ranks again without each pair, one at a time.
void drop_pairs(const Suite& suite, const Chosen& all, const Order& order, Standing& standing) {
  if (order.places < 2) return;
  const std::vector<Method>& methods = suite.methods();
  const std::size_t first = order.methods[0], second = order.methods[1];
  for (const std::size_t left_out : all) {
    Chosen others = all;
    std::erase(others, left_out);
    if (others.empty()) return;
    const Order without = order_of(suite, others);
    if (without.places > 0 && without.methods[0] != first) {
      standing.dropped.push_back({suite.pairs()[left_out], methods[without.methods[0]].row});
    }
    const double lead = compare(methods[first], methods[second], others).difference.mean;
    if (std::isnan(standing.least_lead) || lead < standing.least_lead) {
      standing.least_lead = lead;
      standing.weakest_pair = suite.pairs()[left_out];
    }
  }
}

Standing standing_of(const std::vector<const Table*>& tables) {
  const Suite suite(tables);
  Standing standing;
  standing.samples = tables[0]->samples;
  standing.pairs = suite.pairs();
  standing.groups = suite.groups();
  Chosen all(suite.pairs().size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Order order = order_of(suite, all);
  for (const std::size_t m : order.methods) {
    const Method& method = suite.methods()[m];
    StandingRow& row = standing.rows.emplace_back();
    row.row = method.row;
    row.all = reach_of(method, all);
    for (const PairGroup& group : standing.groups) {
      row.groups.push_back(reach_of(method, suite.numbers(group.pairs)));
    }
    row.whole = row.all.pairs == all.size();
    row.by_draws = std::isnan(row.all.distance.mean) || row.all.upper_bound;
    row.ahead = order.ahead.at(m);
    row.nearer_than_first =
        order.places > 0 && !row.whole && is_nearer(method, suite.methods()[order.methods[0]], all);
  }
  standing.places = order.places;
  if (order.places >= 2) {
    standing.lead =
        compare(suite.methods()[order.methods[0]], suite.methods()[order.methods[1]], all);
  }
  drop_pairs(suite, all, order, standing);
  return standing;
}

}  // namespace

OverPairs mean_over_pairs(const std::vector<double>& values) {
  if (values.empty()) return {};
  const MeanEstimate estimate = estimate_mean(values);
  if (!std::isfinite(estimate.mean)) return {estimate.mean, kNone};
  return {estimate.mean, student_half_width(values.size(), estimate.standard_error)};
}

OverPairs ratio_over_pairs(const std::vector<double>& numerators,
                           const std::vector<double>& denominators) {
  const double room = std::accumulate(denominators.begin(), denominators.end(), 0.0);
  if (!(room > 0.0)) return {};
  OverPairs ratio;
  ratio.mean = std::accumulate(numerators.begin(), numerators.end(), 0.0) / room;
  std::vector<double> residuals;  // their mean is 0
  for (std::size_t i = 0; i < numerators.size(); ++i) {
    residuals.push_back(numerators[i] - ratio.mean * denominators[i]);
  }
  const auto count = static_cast<double>(numerators.size());
  ratio.half_width =
      student_half_width(numerators.size(), estimate_mean(residuals).standard_error * count / room);
  return ratio;
}

std::vector<Standing> standings(const std::vector<Table>& tables) {
  std::map<std::size_t, std::vector<const Table*>> of_number;
  for (const Table& table : tables) of_number[table.samples].push_back(&table);
  std::vector<Standing> all;
  for (const auto& [samples, own] : of_number) {
    Standing standing = standing_of(own);
    if (!standing.rows.empty()) all.push_back(std::move(standing));
  }
  return all;
}

}  // namespace bridgemark
