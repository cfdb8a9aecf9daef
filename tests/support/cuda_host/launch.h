// Launching: blocks are spread over OS threads, each with its own runner and its own shared memory.
#pragma once

#include <link.h>

#include <atomic>
#include <climits>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>

#include "scheduler.h"

// Defined beside the kernels by build.py: room for the dynamic shared memory (none: 0 bytes).
extern "C" void* host_dynamic_shared();
extern "C" const size_t host_dynamic_room;

extern "C" void* __tls_get_addr(size_t*);

namespace host {

struct Kernel {
    const char* name;
    void (*call)(void** args);
    int most_threads;
    int arguments;
    const size_t* argument_bytes;
    Kernel* next;
};

inline Kernel*& kernels() {
    static Kernel* first = nullptr;
    return first;
}

template <auto function>
struct Caller;
template <class... A, void (*function)(A...)>
struct Caller<function> {
    template <size_t... i>
    static void apply(void** args, std::index_sequence<i...>) {
        (void)args;
        function(*static_cast<std::remove_reference_t<A>*>(args[i])...);
    }
    static constexpr int count = sizeof...(A);
    static constexpr size_t bytes[count + 1] = {sizeof(A)..., 0};
    static void call(void** args) { apply(args, std::index_sequence_for<A...>{}); }
};

struct Registration {
    explicit Registration(Kernel* kernel) {
        kernel->next = kernels();
        kernels() = kernel;
    }
};

#define HOST_KERNEL(name, bounds)                                                                            \
    static host::Kernel host_kernel_##name = {#name, &host::Caller<&name>::call, bounds,                      \
                                              host::Caller<&name>::count, host::Caller<&name>::bytes, nullptr};  \
    static host::Registration host_registration_##name(&host_kernel_##name);

struct Memory {
    char* base = nullptr;
    size_t bytes = 0;
};

// The thread-local memory of this library on this OS thread: shared memory, and the pointer to the runner.
inline Memory shared_memory() {
    static const auto find = [](dl_phdr_info* info, size_t, void* out) {
        auto here = reinterpret_cast<uintptr_t>(&host_dynamic_room);
        bool mine = false;
        size_t bytes = 0;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
            const auto& header = info->dlpi_phdr[i];
            uintptr_t start = info->dlpi_addr + header.p_vaddr;
            if (header.p_type == PT_LOAD && here >= start && here < start + header.p_memsz) mine = true;
            if (header.p_type == PT_TLS) bytes = header.p_memsz;
        }
        // dlpi_tls_data may lag behind what a thread has: ask for the start of the module's memory.
        size_t start[2] = {info->dlpi_tls_modid, 0};
        if (mine) *static_cast<Memory*>(out) = {static_cast<char*>(__tls_get_addr(start)), bytes};
        return int(mine);
    };
    Memory memory;
    dl_iterate_phdr(find, &memory);
    return memory;
}

struct Job {
    dim3 grid, block;
    size_t shared_bytes;
    Order order;
    uint64_t seed;
    bool poison;
    Kernel* kernel;
    void** args;
    std::vector<int> blocks;
    std::atomic<size_t> taken{0};
    std::mutex lock;
    std::string fault;
};

inline void poison_shared(const Job& job) {
    [[maybe_unused]] auto* dynamic = static_cast<char*>(host_dynamic_shared());
#if HOST_ASAN
    if (dynamic) __asan_unpoison_memory_region(dynamic, host_dynamic_room);
#endif
    if (job.poison) {
        Memory memory = shared_memory();
        auto* own = reinterpret_cast<char*>(&runner);
        // All ones: a NaN as float or double, -1 as an integer.
        memset(memory.base, 0xff, size_t(own - memory.base));
        memset(own + sizeof runner, 0xff, size_t(memory.base + memory.bytes - own) - sizeof runner);
    }
#if HOST_ASAN
    if (dynamic) __asan_poison_memory_region(dynamic + job.shared_bytes, host_dynamic_room - job.shared_bytes);
#endif
}

// Stacks are kept from launch to launch.
inline std::mutex pool_lock;
inline long long barriers_opened = 0;
inline std::vector<std::unique_ptr<Runner>> pool;

inline void work(Job& job) {
    std::unique_ptr<Runner> mine;
    {
        std::lock_guard<std::mutex> hold(pool_lock);
        if (!pool.empty()) mine = std::move(pool.back()), pool.pop_back();
    }
    if (!mine) mine = std::make_unique<Runner>();
    Runner& own = *mine;
    own.grid = job.grid;
    own.block = job.block;
    own.threads = int(job.block.x * job.block.y * job.block.z);
    own.order = job.order;
    own.call = job.kernel->call;
    own.args = job.args;
    own.fault.clear();
#if HOST_ASAN
    own.main_stack = nullptr;
#endif
    runner = &own;
    for (size_t i; own.fault.empty() && (i = job.taken.fetch_add(1)) < job.blocks.size();) {
        unsigned b = unsigned(job.blocks[i]);
        // A block's schedule depends on its number, not on the OS thread that runs it.
        own.random.state = job.seed * 0x100000001B3ull + b;
        poison_shared(job);
        own.run({b % job.grid.x, b / job.grid.x % job.grid.y, b / (job.grid.x * job.grid.y)});
    }
#if HOST_ASAN
    if (auto* dynamic = host_dynamic_shared()) __asan_unpoison_memory_region(dynamic, host_dynamic_room);
#endif
    runner = nullptr;
    std::lock_guard<std::mutex> hold(job.lock);
    if (!own.fault.empty()) {
        if (job.fault.empty()) job.fault = own.fault;
        job.taken = job.blocks.size();
    }
    std::lock_guard<std::mutex> also(pool_lock);
    barriers_opened += own.barriers;
    own.barriers = 0;
    pool.push_back(std::move(mine));
}

inline std::string launch(Job& job, int os_threads, const char* name) {
    for (job.kernel = kernels(); job.kernel && strcmp(job.kernel->name, name); job.kernel = job.kernel->next) {}
    if (!job.kernel) return std::string("no kernel ") + name;
    uint64_t threads = uint64_t(job.block.x) * job.block.y * job.block.z;
    if (threads < 1 || threads > uint64_t(job.kernel->most_threads))
        return std::string(name) + ": " + std::to_string(threads) + " threads a block, its launch bound is " + std::to_string(job.kernel->most_threads);
    if (job.shared_bytes > host_dynamic_room)
        return std::string(name) + ": " + std::to_string(job.shared_bytes) + " bytes of dynamic shared memory, there is room for " + std::to_string(host_dynamic_room);
    uint64_t count = uint64_t(job.grid.x) * job.grid.y * job.grid.z;
    if (count < 1 || count > INT_MAX) return std::string(name) + ": a grid of " + std::to_string(count) + " blocks";
    job.blocks.resize(count);
    for (size_t i = 0; i < count; ++i) job.blocks[i] = int(job.order == DESCENDING ? count - 1 - i : i);
    if (job.order == RANDOM) {
        Random random = {job.seed};
        random.shuffle(job.blocks.data(), int(count));
    }
    std::vector<std::thread> others;
    for (int i = 1; i < os_threads; ++i) others.emplace_back([&job] { work(job); });
    work(job);
    for (auto& other : others) other.join();
    return job.fault;
}

}  // namespace host

// Returns 0, or 1 with a message in `error` (of `error_bytes`).
extern "C" int host_launch(const char* kernel, const unsigned* grid, const unsigned* block, size_t shared_bytes, void** args,
                           int order, unsigned long long seed, int os_threads, int poison, char* error, size_t error_bytes) {
    host::Job job;
    job.grid = {grid[0], grid[1], grid[2]};
    job.block = {block[0], block[1], block[2]};
    job.shared_bytes = shared_bytes;
    job.order = host::Order(order);
    job.seed = seed;
    job.poison = poison != 0;
    job.args = args;
    std::string fault = host::launch(job, os_threads, kernel);
    snprintf(error, error_bytes, "%s", fault.c_str());
    return fault.empty() ? 0 : 1;
}

// Number of a kernel's arguments, -1 if there is no such kernel; their sizes go to `bytes`, at most `room`.
extern "C" int host_arguments(const char* name, size_t* bytes, int room) {
    for (auto* kernel = host::kernels(); kernel; kernel = kernel->next)
        if (!strcmp(kernel->name, name)) {
            for (int i = 0; i < kernel->arguments && i < room; ++i) bytes[i] = kernel->argument_bytes[i];
            return kernel->arguments;
        }
    return -1;
}

// Barriers that blocks of this library have passed so far, all blocks together.
extern "C" long long host_barriers() { return host::barriers_opened; }

// Shared memory that kernels declare with a size, all kernels of the library together.
extern "C" size_t host_static_shared_bytes() { return host::shared_memory().bytes - sizeof(void*) - host_dynamic_room; }
