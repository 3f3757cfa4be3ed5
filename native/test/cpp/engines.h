// The names of the engines that this processor runs.
#ifndef RUNNEL_TEST_CPP_ENGINES_H_
#define RUNNEL_TEST_CPP_ENGINES_H_

#include <cstdlib>
#include <span>
#include <string>

namespace runnel {

template <typename Engine>
std::string NamesOf(std::span<const Engine> engines) {
  std::string names;
  for (const Engine& engine : engines) names += names.empty() ? engine.name : std::string(" ") + engine.name;
  return names;
}

// Engines that the environment's variable names; `found` where it says nothing.
inline std::string ExpectedEngines(const char* variable, const std::string& found) {
  const char* expected = std::getenv(variable);
  return expected == nullptr ? found : expected;
}

}  // namespace runnel

#endif  // RUNNEL_TEST_CPP_ENGINES_H_
