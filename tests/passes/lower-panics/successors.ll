; SPEC panic: fails "no"
; Code behind a panic that the compiler did not know to be one is cut, phi nodes included.
define i32 @f(i1 %c) {
  br i1 %c, label %bad, label %join
bad:
  %v = call i32 @fails()
  br label %join
join:
  %p = phi i32 [ %v, %bad ], [ 3, %0 ]
  ret i32 %p
}
declare i32 @fails()
; CHECK: bad:
; CHECK-NEXT: call void @__schism_panic(ptr @schism.panic, i64 2, ptr null)
; CHECK-NEXT: unreachable
; CHECK: phi i32 [ 3, %0 ]
