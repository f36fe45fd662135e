; Minima, maxima and differences of numbers that fit into 32 bits are computed there; -1 is the largest number, as its lower half is.
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)

define i64 @neighbours(i32 %len32, i32 %x32) {
  %len = zext nneg i32 %len32 to i64
  %last = add nsw i64 %len, -1
  %x = zext nneg i32 %x32 to i64
  %left = call i64 @llvm.usub.sat.i64(i64 %x, i64 4)
  %left.in = call i64 @llvm.umin.i64(i64 %last, i64 %left)
  %right = add i64 %x, 4
  %right.in = call i64 @llvm.umin.i64(i64 %last, i64 %right)
  %sum = add i64 %left.in, %right.in
  ret i64 %sum
}
; CHECK-LABEL: @neighbours
; CHECK: = call i32 @llvm.usub.sat.i32(i32 %x32, i32 4)
; CHECK: = call i32 @llvm.umin.i32(i32
; CHECK-NEXT: = zext nneg i32
; CHECK: = call i32 @llvm.umin.i32(i32
; CHECK-NEXT: = zext i32
; CHECK-NOT: .i64(
; CHECK: ret i64

; Both may be -1, so the minimum may.
define i64 @below(i32 %len32, i32 %x32) {
  %len = zext nneg i32 %len32 to i64
  %last = add nsw i64 %len, -1
  %x = zext nneg i32 %x32 to i64
  %before = add nsw i64 %x, -1
  %least = call i64 @llvm.umin.i64(i64 %last, i64 %before)
  %is.first = icmp eq i32 %x32, 0
  %chosen = select i1 %is.first, i64 5, i64 %least
  %most = call i64 @llvm.smax.i64(i64 %chosen, i64 7)
  ret i64 %most
}
; CHECK-LABEL: @below
; CHECK: = call i32 @llvm.umin.i32(i32
; CHECK: = select i1 %is.first, i32 5, i32
; CHECK: = call i32 @llvm.smax.i32(i32
; CHECK-NEXT: = zext nneg i32
; CHECK-NEXT: ret i64

; What may have more bits stays: the order of the lower halves may be another.
define i64 @long(i64 %any, i32 %a32, i32 %b32) {
  %a = zext i32 %a32 to i64
  %b = zext i32 %b32 to i64
  %of.any = call i64 @llvm.umin.i64(i64 %any, i64 %a)
  %over = add i64 %b, 1
  %of.over = call i64 @llvm.umin.i64(i64 %over, i64 %a)
  %under = add i64 %b, -2
  %of.under = call i64 @llvm.umin.i64(i64 %under, i64 %a)
  %largest = call i64 @llvm.umax.i64(i64 %of.over, i64 %of.under)
  %sum = add i64 %of.any, %largest
  ret i64 %sum
}
; CHECK-LABEL: @long
; CHECK: %of.any = call i64 @llvm.umin.i64(i64 %any, i64 %a)
; CHECK: %of.over = call i64 @llvm.umin.i64(i64 %over, i64 %a)
; CHECK: %of.under = call i64 @llvm.umin.i64(i64 %under, i64 %a)
