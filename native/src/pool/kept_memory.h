// Limits the freed memory that the process keeps. By default glibc has an arena for each thread, keeps blocks of a size
// once one of that size was freed, and gives back only what lies at an arena's end: what runs and the recipe of a large
// file took, and the holes between what stayed, would be resident for good.
#ifndef RUNNEL_POOL_KEPT_MEMORY_H_
#define RUNNEL_POOL_KEPT_MEMORY_H_

namespace runnel {

// Called first of all.
void KeepLittleMemory();

// Gives free pages back to the system, wherever they lie; at most every few seconds, else it returns at once. Takes
// some milliseconds, from any thread.
void GiveMemoryBack();

}  // namespace runnel

#endif  // RUNNEL_POOL_KEPT_MEMORY_H_
