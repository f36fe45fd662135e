; In each circle one static is declared first, and used by that name; others are left alone.
; CHECK: @schism_circular_0 = dso_local constant ptr @b
; CHECK: @b = internal constant ptr @c
; CHECK: @c = internal constant { i64, ptr } { i64 7, ptr @schism_circular_0_forward }
; CHECK: @schism_circular_1 = dso_local constant [2 x ptr] [ptr getelementptr inbounds (i8, ptr @schism_circular_1_forward, i64 8), ptr @b]
; CHECK: @alone = internal constant ptr @b
; CHECK: @function = internal constant ptr @f
; CHECK: @schism_circular_0_forward = external constant ptr
; CHECK: @schism_circular_1_forward = external constant [2 x ptr]
@a = internal constant ptr @b
@b = internal constant ptr @c
@c = internal constant { i64, ptr } { i64 7, ptr @a }
@itself = internal constant [2 x ptr] [ptr getelementptr inbounds (i8, ptr @itself, i64 8), ptr @b]
@alone = internal constant ptr @b
@function = internal constant ptr @f
; CHECK: define ptr @f()
; CHECK: load ptr, ptr @schism_circular_0_forward
define ptr @f() {
  %first = load ptr, ptr @a
  %second = load ptr, ptr @function
  ret ptr %first
}
