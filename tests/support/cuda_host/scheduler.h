// The threads of one block as fibers of one OS thread: who runs next, and what they wait for.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "fibers.h"

struct uint3 {
    unsigned x, y, z;
};

struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

namespace host {

enum Order { ASCENDING, DESCENDING, RANDOM };
enum Status : unsigned char { READY, AT_BARRIER, AT_WARP, LEFT };

constexpr int MOST_THREADS = 1024;
constexpr int WARP = 32;

struct Site {
    const char* operation;
    const char* file;
    int line;

    bool operator==(const Site& other) const {
        return line == other.line && same(operation, other.operation) && same(file, other.file);
    }

    static bool same(const char* a, const char* b) {
        return a == b || (a && b && !strcmp(a, b));
    }
};

// Lanes of one mask that meet at a warp operation: values are left here until all have read them.
struct Meeting {
    unsigned mask = 0;  // 0: free
    unsigned arrived = 0;
    unsigned read = 0;
    Site site = {};
    uint64_t value[WARP];
};

struct Fiber {
    Context context;
    Stack stack;
    uint3 thread = {};
    Site site = {};
    Meeting* meeting = nullptr;
    int vote = 0;
#if HOST_ASAN
    void* fake_stack = nullptr;
#endif
};

struct Random {
    uint64_t state;
    uint64_t next() {  // splitmix64
        uint64_t z = (state += 0x9E3779B97F4A7C15ull);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
        return z ^ (z >> 31);
    }
    void shuffle(int* values, int count) {
        for (int i = count - 1; i > 0; --i) {
            int j = int(next() % uint64_t(i + 1));
            int kept = values[i];
            values[i] = values[j];
            values[j] = kept;
        }
    }
};

// One block at work on one OS thread.
struct Runner {
    dim3 grid, block;
    uint3 index = {};
    int threads = 0;
    Order order = ASCENDING;
    Random random = {0};
    void (*call)(void** args) = nullptr;
    void** args = nullptr;

    Fiber fibers[MOST_THREADS];
    Status status[MOST_THREADS];
    int sequence[MOST_THREADS];
    Meeting meetings[MOST_THREADS / WARP][2 * WARP];
    int place = 0;    // in the sequence: the fiber that runs
    int waiting = 0;  // at the barrier
    int ready = 0;
    int left = 0;
    int vote_count = 0;
    long long barriers = 0;  // opened so far
    Fiber* current = nullptr;
    Context main;
#if HOST_ASAN
    void* main_fake_stack = nullptr;
    const void* main_stack = nullptr;
    size_t main_stack_bytes = 0;
#endif
    std::string fault;

    int number() const { return int(current - fibers); }

    void new_sequence() {
        for (int i = 0; i < threads; ++i) sequence[i] = order == DESCENDING ? threads - 1 - i : i;
        if (order == RANDOM) random.shuffle(sequence, threads);
    }

    // Switch to a fiber, or to main (nullptr). `last`: the fiber that is left will not come back.
    void enter(Fiber* next, bool last) {
        Fiber* from = current;
        current = next;
        Context& source = from ? from->context : main;
        Context& target = next ? next->context : main;
#if HOST_ASAN
        void** save = last ? nullptr : (from ? &from->fake_stack : &main_fake_stack);
        __sanitizer_start_switch_fiber(save, next ? next->stack.base : main_stack,
                                       next ? next->stack.bytes : main_stack_bytes);
        swap_contexts(source, target);
        arrived();
#else
        (void)last;
        swap_contexts(source, target);
#endif
    }

#if HOST_ASAN
    void arrived() {
        const void* bottom = nullptr;
        size_t bytes = 0;
        __sanitizer_finish_switch_fiber(current ? current->fake_stack : main_fake_stack, &bottom, &bytes);
        // The first fiber learns where main's stack lies.
        if (!main_stack) main_stack = bottom, main_stack_bytes = bytes;
    }
#endif

    [[noreturn]] void fail(const char* format, ...) {
        char text[512];
        va_list list;
        va_start(list, format);
        vsnprintf(text, sizeof text, format, list);
        va_end(list);
        if (fault.empty()) {
            fault = "block " + std::to_string(index.x) + ": " + text;
            if (current) fault += " (thread " + std::to_string(number()) + ")";
        }
        enter(nullptr, true);
        __builtin_unreachable();
    }

    // The next ready fiber in the sequence; -1 if there is none.
    int next_ready() {
        if (!ready) return -1;
        for (;;) {
            if (++place == threads) place = 0;
            if (status[sequence[place]] == READY) return sequence[place];
        }
    }

    // Leave the fiber at hand, which no longer is ready, for the next one.
    void give_way(bool last) {
        int next = next_ready();
        if (next < 0) {
            if (left == threads) enter(nullptr, true);
            if (waiting < threads) fail("%s", describe_deadlock().c_str());
            open_barrier();
            next = next_ready();
        }
        if (&fibers[next] != current) enter(&fibers[next], last);
    }

    void open_barrier() {
        ++barriers;
        vote_count = 0;
        for (int i = 0; i < threads; ++i) {
            if (!(fibers[i].site == fibers[0].site)) {
                const Site &a = fibers[0].site, &b = fibers[i].site;
                fail("barriers diverged: thread 0 waits at %s of %s:%d, thread %d at %s of %s:%d", a.operation, a.file,
                     a.line, i, b.operation, b.file, b.line);
            }
            vote_count += fibers[i].vote != 0;
        }
        memset(status, READY, sizeof status);
        ready = threads;
        waiting = 0;
        if (order == RANDOM) new_sequence();
        place = -1;
    }

    std::string describe_deadlock() const {
        std::string text = "deadlock:";
        for (int i = 0, groups = 0; i < threads && groups < 6; ++groups) {
            int end = i + 1;
            while (end < threads && status[end] == status[i] && (status[i] == LEFT || fibers[end].site == fibers[i].site)) ++end;
            char part[200];
            const Site& site = fibers[i].site;
            if (status[i] == LEFT)
                snprintf(part, sizeof part, " threads %d-%d have left the kernel;", i, end - 1);
            else
                snprintf(part, sizeof part, " threads %d-%d wait at %s of %s:%d;", i, end - 1, site.operation, site.file, site.line);
            text += part;
            i = end;
        }
        return text;
    }

    int barrier(const Site& site, int vote) {
        Fiber* mine = current;
        int me = number();
        mine->site = site;
        mine->vote = vote;
        status[me] = AT_BARRIER;
        --ready;
        ++waiting;
        give_way(false);
        return vote_count;
    }

    void leave() {
        status[number()] = LEFT;
        --ready;
        ++left;
        give_way(true);
        __builtin_unreachable();
    }

    // Meet the other lanes of `mask` at a warp operation, leaving a value. Returns the meeting; call `part`
    // when the values are read.
    Meeting* meet(const Site& site, unsigned mask, uint64_t value) {
        int me = number(), lane = me % WARP, warp = me / WARP;
        int lanes = threads - warp * WARP < WARP ? threads - warp * WARP : WARP;
        if (!(mask >> lane & 1u)) fail("%s of %s:%d: mask %08x lacks the calling lane", site.operation, site.file, site.line, mask);
        if (lanes < WARP && mask >> lanes) fail("%s of %s:%d: mask %08x names lanes that do not exist", site.operation, site.file, site.line, mask);
        Meeting *found = nullptr, *free = nullptr;
        for (Meeting& meeting : meetings[warp]) {
            if (!meeting.mask) {
                if (!free) free = &meeting;
                if (found) break;
                continue;
            }
            if (meeting.arrived == meeting.mask) continue;  // some still read
            if (meeting.mask == mask && meeting.site == site)
                found = &meeting;
            else if (meeting.mask & mask)
                fail("lanes of a warp meet at different operations: %s of %s:%d with mask %08x, %s of %s:%d with mask %08x",
                     meeting.site.operation, meeting.site.file, meeting.site.line, meeting.mask, site.operation, site.file, site.line, mask);
        }
        if (!found) {
            if (!free) fail("too many warp operations under way");
            found = free;
            found->mask = mask;
            found->arrived = found->read = 0;
            found->site = site;
        }
        found->arrived |= 1u << lane;
        found->value[lane] = value;
        if (found->arrived == mask) {
            for (int i = 0; i < lanes; ++i)
                if ((mask >> i & 1u) && i != lane) {
                    status[warp * WARP + i] = READY;
                    ++ready;
                }
        } else {
            Fiber* mine = current;
            mine->site = site;
            status[me] = AT_WARP;
            --ready;
            give_way(false);
        }
        return found;
    }

    void part(Meeting* meeting) {
        meeting->read |= 1u << (number() % WARP);
        if (meeting->read == meeting->mask) meeting->mask = 0;
    }

    static void fiber_main();

    // Run one block to its end; false if it failed.
    bool run(uint3 which) {
        index = which;
        waiting = left = 0;
        ready = threads;
        memset(status, READY, sizeof status);
        for (auto& warp : meetings)
            for (auto& meeting : warp) meeting.mask = 0;
        new_sequence();
        for (int i = 0; i < threads; ++i) {
            Fiber& fiber = fibers[i];
            fiber.stack.make(size_t(i));
#if HOST_ASAN
            __asan_unpoison_memory_region(fiber.stack.base, STACK_BYTES);
            fiber.fake_stack = nullptr;
#endif
            fiber.thread = {unsigned(i) % block.x, unsigned(i) / block.x % block.y, unsigned(i) / (block.x * block.y)};
            fiber.site = {};
            prepare(fiber.context, fiber.stack.base, fiber.stack.bytes, &Runner::fiber_main);
        }
        current = nullptr;
        place = 0;
        enter(&fibers[sequence[0]], false);
        return fault.empty();
    }
};

// The only thread-local variable besides shared memory, so that the rest can be poisoned.
static thread_local Runner* runner = nullptr;

inline void Runner::fiber_main() {
    Runner* mine = runner;
#if HOST_ASAN
    mine->arrived();
#endif
    mine->call(mine->args);
    mine->leave();
}

}  // namespace host

#define threadIdx (host::runner->current->thread)
#define blockIdx (host::runner->index)
#define blockDim (host::runner->block)
#define gridDim (host::runner->grid)
#define warpSize 32

#define HOST_SITE(name) (host::Site{name, __FILE__, __LINE__})
#define __syncthreads() ((void)host::runner->barrier(HOST_SITE("__syncthreads"), 0))
#define __syncthreads_count(vote) (host::runner->barrier(HOST_SITE("__syncthreads_count"), (vote) != 0))
#define __syncthreads_or(vote) (host::runner->barrier(HOST_SITE("__syncthreads_or"), (vote) != 0) != 0)
#define __syncthreads_and(vote) (host::runner->barrier(HOST_SITE("__syncthreads_and"), (vote) != 0) == host::runner->threads)
