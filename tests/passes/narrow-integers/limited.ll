; The indices of neighbours may have 33 bits before they are limited to the last one of a slice; they are limited in 32 bits where a check
; has said that there is a last one.

declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)

define i64 @neighbours(i32 %start, i32 %place, i32 range(i32 0, -2147483648) %len.32) {
  %len = zext nneg i32 %len.32 to i64
  %last = add nsw i64 %len, -1
  %sum = add nuw i32 %start, %place
  %x = zext i32 %sum to i64
  %first = call i64 @llvm.umin.i64(i64 %last, i64 %x)
  %inside = icmp ult i64 %first, %len
  br i1 %inside, label %go, label %panic
go:
  %next = add nuw nsw i64 %x, 4
  %right = call i64 @llvm.umin.i64(i64 %last, i64 %next)
  %third = add nuw nsw i64 %x, 3
  %less = call i64 @llvm.usub.sat.i64(i64 %third, i64 4)
  %left = call i64 @llvm.umin.i64(i64 %less, i64 %last)
  %sum.of.both = mul i64 %left, %right
  ret i64 %sum.of.both
panic:
  ret i64 -1
}
; CHECK: define i64 @neighbours
; CHECK: call i32 @llvm.umin.i32(i32 %sum, i32 -1073741824)
; CHECK: icmp ult i32
; CHECK: go:
; CHECK-NOT: i64 @llvm.umin.i64
; CHECK: = add i32 {{.*}}, 4
; CHECK: call i32 @llvm.umin.i32
; CHECK: call i32 @llvm.usub.sat.i32(i32 %sum, i32 1)
; CHECK: ret i64

; Nobody says that there is a last one.
define i64 @unknown(i32 %place, i32 range(i32 0, -2147483648) %len.32) {
  %len = zext nneg i32 %len.32 to i64
  %last = add nsw i64 %len, -1
  %x = zext i32 %place to i64
  %next = add nuw nsw i64 %x, 4
  %right = call i64 @llvm.umin.i64(i64 %last, i64 %next)
  ret i64 %right
}
; CHECK: define i64 @unknown
; CHECK: call i64 @llvm.umin.i64
; CHECK: ret i64

; A difference that is zero where it would be negative is a saturated one, and never negative; a last index may be -1, and is compared so.
define i64 @before(i32 range(i32 0, -2147483648) %place, i32 range(i32 0, -2147483648) %side.32, ptr %p) {
  %side = zext nneg i32 %side.32 to i64
  %last = add nsw i64 %side, -1
  %x = zext nneg i32 %place to i64
  %before = add nsw i64 %x, -1
  %is.first = icmp eq i32 %place, 0
  %limited = call i64 @llvm.umin.i64(i64 %last, i64 %before)
  %left = select i1 %is.first, i64 0, i64 %limited
  %small = icmp ult i64 %last, 2147483648
  store i1 %small, ptr %p
  ret i64 %left
}
; CHECK: define i64 @before
; CHECK: = call i32 @llvm.usub.sat.i32(i32 %place, i32 1)
; CHECK: = call i32 @llvm.umin.i32
; CHECK: = icmp ult i32 {{.*}}, -2147483648
; CHECK: ret i64
