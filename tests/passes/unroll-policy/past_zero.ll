; A counter that goes down from 0 to 3 takes 65,533 steps, past the end of its numbers.
define i64 @past_zero(ptr %from) {
begin:
  %words = alloca [4 x i64]
  br label %loop
loop:
  %k = phi i16 [ 0, %begin ], [ %k.next, %loop ]
  %low = and i16 %k, 3
  %at = zext i16 %low to i64
  %to = getelementptr inbounds i64, ptr %words, i64 %at
  store i64 %at, ptr %to
  %k.next = add i16 %k, -1
  %ends = icmp eq i16 %k.next, 3
  br i1 %ends, label %done, label %loop
done:
  %first = load i64, ptr %words
  ret i64 %first
}
; Down to 0 it takes four.
define i64 @down(ptr %from) {
begin:
  %words = alloca [4 x i64]
  br label %loop
loop:
  %k = phi i16 [ 4, %begin ], [ %k.next, %loop ]
  %k.next = add i16 %k, -1
  %at = zext i16 %k.next to i64
  %to = getelementptr inbounds i64, ptr %words, i64 %at
  %there = getelementptr inbounds i64, ptr %from, i64 %at
  %value = load i64, ptr %there
  store i64 %value, ptr %to
  %ends = icmp eq i16 %k.next, 0
  br i1 %ends, label %done, label %loop
done:
  %first = load i64, ptr %words
  ret i64 %first
}
; CHECK: @past_zero
; CHECK: alloca [4 x i64]
; CHECK: br i1 %ends, label %done, label %loop
; CHECK: @down
; CHECK-NOT: alloca
; CHECK: ret i64
