; What is left to a length of 31 bits is divided in 32 bits; what may be more, is not, and what is not counted so.
declare i64 @llvm.umax.i64(i64, i64)

define i64 @trip_count(i32 range(i32 0, -2147483648) %short, i64 %id, i64 %step) {
  %len = zext nneg i32 %short to i64
  %first = add nuw i64 %step, %id
  %most = call i64 @llvm.umax.i64(i64 %len, i64 %first)
  %below = icmp ult i64 %first, %len
  %one = zext i1 %below to i64
  %sum = add nuw i64 %one, %id
  %end = add nuw i64 %sum, %step
  %left = sub i64 %most, %end
  %count = udiv i64 %left, %step
  ret i64 %count
}

define i64 @long(i64 %len, i64 %first, i64 %step) {
  %most = call i64 @llvm.umax.i64(i64 %len, i64 %first)
  %below = icmp ult i64 %first, %len
  %one = zext i1 %below to i64
  %end = add nuw i64 %first, %one
  %left = sub i64 %most, %end
  %count = udiv i64 %left, %step
  ret i64 %count
}

define i64 @may_wrap(i32 range(i32 0, -2147483648) %short, i64 %id, i64 %step) {
  %len = zext nneg i32 %short to i64
  %first = add i64 %step, %id
  %most = call i64 @llvm.umax.i64(i64 %len, i64 %first)
  %below = icmp ult i64 %first, %len
  %one = zext i1 %below to i64
  %sum = add i64 %one, %id
  %end = add i64 %sum, %step
  %left = sub i64 %most, %end
  %count = udiv i64 %left, %step
  ret i64 %count
}

define i64 @other_way(i32 range(i32 0, -2147483648) %short, i64 %first, i64 %step) {
  %len = zext nneg i32 %short to i64
  %most = call i64 @llvm.umax.i64(i64 %len, i64 %first)
  %above = icmp ult i64 %len, %first
  %one = zext i1 %above to i64
  %end = add nuw i64 %first, %one
  %left = sub i64 %most, %end
  %count = udiv i64 %left, %step
  ret i64 %count
}
; CHECK: define i64 @trip_count
; CHECK: %1 = trunc i64 %left to i32
; CHECK-NEXT: %2 = call i64 @llvm.umin.i64(i64 %step, i64 4294967295)
; CHECK-NEXT: %3 = trunc i64 %2 to i32
; CHECK-NEXT: %4 = udiv i32 %1, %3
; CHECK-NEXT: %5 = zext i32 %4 to i64
; CHECK-NEXT: ret i64 %5
; CHECK: define i64 @long
; CHECK: %count = udiv i64 %left, %step
; CHECK: define i64 @may_wrap
; CHECK: %count = udiv i64 %left, %step
; CHECK: define i64 @other_way
; CHECK: %count = udiv i64 %left, %step
