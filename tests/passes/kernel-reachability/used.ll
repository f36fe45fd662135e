; SPEC kernel: kernel entry 0 1
; The host linker's lists keep nothing alive, nor do its constructors.
@kept = global i32 1
@llvm.used = appending global [1 x ptr] [ptr @kept], section "llvm.metadata"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @ctor, ptr null }]
define void @kernel() {
  ret void
}
define internal void @ctor() {
  ret void
}
; CHECK-NOT: @kept
; CHECK-NOT: llvm.used
; CHECK: define void @kernel()
; CHECK-NOT: @ctor
