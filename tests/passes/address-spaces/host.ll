; SPEC target: x86_64-unknown-linux-gnu
; SPEC kernel: kernel entry 0 1
; The CPU has one memory.
@one = internal constant i32 1
define void @kernel(ptr %out) {
  %v = load volatile i32, ptr @one
  store i32 %v, ptr %out
  ret void
}
; CHECK: @one = internal constant i32 1
; CHECK: define void @kernel(ptr %out)
