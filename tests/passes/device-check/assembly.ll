; SPEC kernel: kernel entry 0 1
; Inline assembly and a thread-local.
@tls = internal thread_local global i32 0
@gone = external global i32
define void @kernel() {
  call void asm sideeffect "nop", ""()
  %p = call ptr @llvm.threadlocal.address.p0(ptr @tls)
  %v = load i32, ptr %p
  %w = load i32, ptr @gone
  ret void
}
declare ptr @llvm.threadlocal.address.p0(ptr)
; CHECK: InlineAssembly, chain: ["kernel"]
; CHECK: ThreadLocal("tls"), chain: ["kernel"]
; CHECK: ExternalStatic("gone"), chain: ["kernel"]
; CHECK-NEXT: end of violations
