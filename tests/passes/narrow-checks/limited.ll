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
; CHECK: = add i32 {{...}}, 4
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
