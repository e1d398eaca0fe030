#include <nanobind/nanobind.h>

#include <cstring>
#include <exception>
#include <filesystem>

#include "bridgemark/core/error.h"
#include "python/bindings/bindings.h"

namespace nb = nanobind;

namespace bridgemark::python {

namespace {

// A message may quote a file name that is no UTF-8.
void raise(PyObject* type, const char* message) {
  const auto length = static_cast<Py_ssize_t>(std::strlen(message));
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(message, length, "replace"));
  if (text.is_valid()) PyErr_SetObject(type, text.ptr());
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InvalidArgument& error) {
    raise(PyExc_ValueError, error.what());
  } catch (const FileError& error) {
    raise(PyExc_OSError, error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    raise(PyExc_OSError, (error.path1().string() + ": " + error.code().message()).c_str());
  } catch (const Error& error) {
    raise(PyExc_RuntimeError, error.what());
  }
}

}  // namespace

void init_errors() { nb::register_exception_translator(translate); }

}  // namespace bridgemark::python
