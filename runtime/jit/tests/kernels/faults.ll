; Kernels that cannot be compiled, each for its own reason, and one that can.

declare void @nobody_has_this()
declare i32 @nor_this(i32)
declare i32 @__gxx_personality_v0(...)
declare void @may_throw()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

@local = thread_local global i32 0, align 4

define void @good(ptr %out) {
start:
  store i8 1, ptr %out, align 1
  ret void
}

define void @unresolved(ptr %out) {
start:
  call void @nobody_has_this()
  %value = call i32 @nor_this(i32 1)
  store i32 %value, ptr %out, align 4
  ret void
}

define void @thread_local(ptr %out) {
start:
  %value = load i32, ptr @local, align 4
  store i32 %value, ptr %out, align 4
  ret void
}

define void @unwinds(ptr %out) personality ptr @__gxx_personality_v0 {
start:
  invoke void @may_throw() to label %normal unwind label %pad
normal:
  ret void
pad:
  %exception = landingpad { ptr, i32 } cleanup
  ret void
}

; Another processor's instruction: LLVM's code generator gives up for good at it.
define void @fatal(ptr %out) {
start:
  %id = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  store i32 %id, ptr %out, align 4
  ret void
}

; Assembly that the assembler refuses: LLVM reports it and continues.
define void @assembly(ptr %out) {
start:
  call void asm sideeffect "this is no instruction", ""()
  ret void
}

define i32 @returns(ptr %out) {
start:
  ret i32 0
}

define void @variadic(ptr %out, ...) {
start:
  ret void
}

define fastcc void @convention(ptr %out) {
start:
  ret void
}

define void @marked(ptr sret(i64) %out) {
start:
  ret void
}

define void @other_space(ptr addrspace(1) %out) {
start:
  ret void
}

define void @vector(<2 x i32> %value) {
start:
  ret void
}

declare void @declared(ptr)
