; A loop with one load whose end was loaded is made of four iterations at a time: it is short. One to the end of a parameter is left to LLVM.

define i32 @row(ptr %bytes, ptr %ends, i64 %row) {
begin:
  %begin.at = getelementptr i32, ptr %ends, i64 %row
  %first = load i32, ptr %begin.at
  %next.row = add i64 %row, 1
  %end.at = getelementptr i32, ptr %ends, i64 %next.row
  %end = load i32, ptr %end.at
  %first.wide = zext i32 %first to i64
  %end.wide = zext i32 %end to i64
  %p = getelementptr i8, ptr %bytes, i64 %first.wide
  %last = getelementptr i8, ptr %bytes, i64 %end.wide
  br label %loop
loop:
  %at = phi ptr [ %p, %begin ], [ %at.next, %loop ]
  %hash = phi i32 [ 5, %begin ], [ %hash.next, %loop ]
  %byte = load i8, ptr %at
  %wide = zext i8 %byte to i32
  %mixed = xor i32 %hash, %wide
  %hash.next = mul i32 %mixed, 16777619
  %at.next = getelementptr i8, ptr %at, i64 1
  %is.last = icmp eq ptr %at.next, %last
  br i1 %is.last, label %done, label %loop
done:
  ret i32 %hash.next
}

define i32 @all(ptr %bytes, i64 %count) {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %next, %loop ]
  %hash = phi i32 [ 5, %begin ], [ %hash.next, %loop ]
  %at = getelementptr i8, ptr %bytes, i64 %k
  %byte = load i8, ptr %at
  %wide = zext i8 %byte to i32
  %mixed = xor i32 %hash, %wide
  %hash.next = mul i32 %mixed, 16777619
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret i32 %hash.next
}
; CHECK: define i32 @row
; CHECK: br i1 %is.last, label %done, label %loop, !llvm.loop !0
; CHECK: define i32 @all
; CHECK: br i1 %more, label %loop, label %done
; CHECK-NOT: llvm.loop !
; CHECK: !1 = !{!"llvm.loop.unroll.count", i32 4}
