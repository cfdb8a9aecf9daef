// Fibers: one a CUDA thread. A switch saves six registers and a stack pointer; elsewhere than on x86-64, or
// with -DHOST_UCONTEXT, swapcontext does it (with a system call a switch).
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#define HOST_ASAN 1
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define HOST_ASAN 0
#endif

#if !defined(__x86_64__) && !defined(HOST_UCONTEXT)
#define HOST_UCONTEXT 1
#endif

namespace host {

// Frames under a sanitizer are several times as large.
constexpr size_t STACK_BYTES = HOST_ASAN ? 512 * 1024 : 128 * 1024;
constexpr size_t PAGE = 4096;

using Entry = void (*)();

}  // namespace host

#if defined(HOST_UCONTEXT)

#include <ucontext.h>

namespace host {

struct Context {
    ucontext_t saved;
};

inline void prepare(Context& context, char* stack, size_t bytes, Entry entry) {
    getcontext(&context.saved);
    context.saved.uc_stack.ss_sp = stack;
    context.saved.uc_stack.ss_size = bytes;
    context.saved.uc_link = nullptr;
    makecontext(&context.saved, entry, 0);
}

inline void swap_contexts(Context& from, Context& to) { swapcontext(&from.saved, &to.saved); }

}  // namespace host

#else

extern "C" void host_swap_stacks(void** from, void* to);

// What a callee must keep goes to the stack; floating-point control words are never changed here.
__asm__(
    ".pushsection .text\n"
    ".p2align 4\n"
    ".type host_swap_stacks,@function\n"
    "host_swap_stacks:\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    "    popq %rcx\n"
    "    jmp *%rcx\n"  // the processor's stack of return addresses would foretell a ret wrongly
    ".size host_swap_stacks,.-host_swap_stacks\n"
    ".popsection\n");

namespace host {

struct Context {
    void* top = nullptr;
};

inline void prepare(Context& context, char* stack, size_t bytes, Entry entry) {
    auto** top = reinterpret_cast<void**>((reinterpret_cast<uintptr_t>(stack) + bytes) & ~uintptr_t(15));
    *--top = nullptr;  // where a return address would be: the entry never returns
    *--top = reinterpret_cast<void*>(entry);
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    context.top = top;
}

inline void swap_contexts(Context& from, Context& to) { host_swap_stacks(&from.top, to.top); }

}  // namespace host

#endif

namespace host {

// A stack with a page below it that must not be touched.
struct Stack {
    char* base = nullptr;
    size_t bytes = 0;

    void make(size_t number) {
        if (base) return;
        void* memory =
            mmap(nullptr, STACK_BYTES + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) abort();
        mprotect(memory, PAGE, PROT_NONE);
        base = static_cast<char*>(memory) + PAGE;
        // Tops at different lines: stacks a power of two apart would fight for the same places in the caches.
        bytes = STACK_BYTES - 64 * ((number * 11) % 61);
    }
};

}  // namespace host
