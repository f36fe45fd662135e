; SPEC kernel: kernel entry 0 1
; A function is reached through a table that holds its address, and through a constant expression
; in another constant; statics that refer to each other are kept or go together.
@table = constant [1 x ptr] [ptr @a]
@outer = constant ptr getelementptr (i8, ptr @table, i64 0)
@ring1 = constant ptr @ring2
@ring2 = constant ptr @ring1
@alone1 = constant ptr @alone2
@alone2 = constant ptr @alone1
define void @kernel() {
  %t = load ptr, ptr @outer
  %f = load ptr, ptr %t
  call void %f()
  %r = load volatile ptr, ptr @ring1
  ret void
}
define void @a() {
  ret void
}
; CHECK: @table = internal
; CHECK: @outer = internal
; CHECK: @ring1 = internal
; CHECK: @ring2 = internal
; CHECK-NOT: @alone
; CHECK: define void @kernel()
; CHECK: define internal void @a()
