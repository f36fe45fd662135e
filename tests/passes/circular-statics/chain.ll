; A straight chain has nothing to declare.
; CHECK: @one = internal constant ptr @two
; CHECK: @two = internal constant ptr @three
; CHECK-NOT: schism_circular
@one = internal constant ptr @two
@two = internal constant ptr @three
@three = internal constant i32 3
define ptr @f() {
  %first = load ptr, ptr @one
  ret ptr %first
}
