#include "cuts.h"

#include <utility>

namespace runnel::drive {

uint64_t Cuts::BeginOpen(uint64_t node) {
  State& state = states_[node];
  ++state.opens;
  return state.begun;
}

bool Cuts::EndOpen(uint64_t node, uint64_t begun) {
  State& state = states_[node];
  const bool was_cut = state.begun != begun;
  --state.opens;
  Settle(node);
  return was_cut;
}

void Cuts::Begin(uint64_t node) {
  State& state = states_[node];
  state.is_under_way = true;
  ++state.begun;
}

std::vector<uint64_t> Cuts::End(uint64_t node) {
  State& state = states_[node];
  state.is_under_way = false;
  std::vector<uint64_t> waiters = std::exchange(state.waiters, {});
  Settle(node);
  return waiters;
}

bool Cuts::IsUnderWay(uint64_t node) const {
  const auto found = states_.find(node);
  return found != states_.end() && found->second.is_under_way;
}

bool Cuts::Join(uint64_t node, uint64_t waiter) {
  if (!IsUnderWay(node)) return false;
  states_[node].waiters.push_back(waiter);
  return true;
}

void Cuts::Leave(uint64_t node, uint64_t waiter) {
  const auto found = states_.find(node);
  if (found != states_.end()) std::erase(found->second.waiters, waiter);
}

// Forgets a node of which nothing is under way.
void Cuts::Settle(uint64_t node) {
  const auto found = states_.find(node);
  if (!found->second.is_under_way && found->second.opens == 0) states_.erase(found);
}

}  // namespace runnel::drive
