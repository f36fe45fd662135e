; The result of an invoke continues through a phi node.
define i32 @f(i1 %c) personality ptr @rust_eh_personality {
  br i1 %c, label %left, label %join
left:
  %v = invoke i32 @g() to label %join unwind label %cleanup
join:
  %p = phi i32 [ %v, %left ], [ 7, %0 ]
  ret i32 %p
cleanup:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}
declare i32 @g()
declare i32 @rust_eh_personality(...)
; CHECK: define i32 @f
; CHECK: call i32 @g()
; CHECK: phi i32
; CHECK-NOT: landingpad
; CHECK: declare
