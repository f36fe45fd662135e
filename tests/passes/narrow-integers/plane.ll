; Neighbours in a plane: one check of 64 bits, the others of 32; addresses of 32 bits where all have held.
define float @plane(ptr %p, i32 %len.32, i32 %width.32, i32 %x.32, i64 %at) {
  %len = zext nneg i32 %len.32 to i64
  %width = zext nneg i32 %width.32 to i64
  %x = zext nneg i32 %x.32 to i64
  %last = add nsw i64 %width, -1
  %is.last = icmp eq i64 %last, %x
  br i1 %is.last, label %outside, label %checks
checks:
  %a = icmp ult i64 %at, %len
  %right = add nuw nsw i64 %at, 1
  %b = icmp ult i64 %right, %len
  %ab = select i1 %a, i1 %b, i1 false
  %above = sub nsw i64 %at, %width
  %c = icmp ult i64 %above, %len
  %abc = select i1 %ab, i1 %c, i1 false
  br i1 %abc, label %inside, label %slow
inside:
  %at.p = getelementptr float, ptr %p, i64 %at
  %right.p = getelementptr float, ptr %p, i64 %right
  %above.p = getelementptr float, ptr %p, i64 %above
  %v.at = load float, ptr %at.p
  %v.right = load float, ptr %right.p
  %v.above = load float, ptr %above.p
  %s = fadd float %v.at, %v.right
  %t = fadd float %s, %v.above
  ret float %t
slow:
  br i1 %c, label %outside, label %other
other:
  ret float 1.0
outside:
  ret float 0.0
}

; CHECK: define float @plane(
; CHECK-NEXT: %1 = trunc i64 %at to i32
; CHECK: %2 = add i32 %width.32, -1
; CHECK-NEXT: %3 = icmp eq i32 %2, %x.32
; CHECK-NEXT: br i1 %3, label %outside, label %checks
; CHECK: checks:
; CHECK-NEXT: %a = icmp ult i64 %at, %len
; CHECK-NEXT: %right = add nuw nsw i64 %at, 1
; CHECK-NEXT: %4 = add i32 %1, 1
; CHECK-NEXT: %5 = icmp ult i32 %4, %len.32
; CHECK-NEXT: %ab = select i1 %a, i1 %5, i1 false
; CHECK-NEXT: %above = sub nsw i64 %at, %width
; CHECK-NEXT: %6 = sub i32 %1, %width.32
; CHECK-NEXT: %7 = icmp ult i32 %6, %len.32
; CHECK-NEXT: %c = icmp ult i64 %above, %len
; CHECK-NEXT: %abc = select i1 %ab, i1 %7, i1 false
; CHECK-NEXT: br i1 %abc, label %inside, label %slow
; CHECK: inside:
; CHECK-NEXT: %8 = zext nneg i32 %1 to i64
; CHECK-NEXT: %at.p = getelementptr float, ptr %p, i64 %8
; CHECK-NEXT: %9 = zext nneg i32 %1 to i64
; CHECK-NEXT: %10 = add nsw i64 %9, 1
; CHECK-NEXT: %right.p = getelementptr float, ptr %p, i64 %10
; CHECK-NEXT: %11 = zext nneg i32 %6 to i64
; CHECK-NEXT: %above.p = getelementptr float, ptr %p, i64 %11
; CHECK: slow:
; CHECK-NEXT: br i1 %c, label %outside, label %other
