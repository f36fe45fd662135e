; `for half in [0, 256]`: the array becomes its elements, and a check whose index is below 512 in both is gone.
define i32 @halves(ptr %from, ptr %tile, i64 %local) {
begin:
  %array = alloca [2 x i64]
  store i64 0, ptr %array
  %second = getelementptr inbounds i8, ptr %array, i64 8
  store i64 256, ptr %second
  %inside = icmp ult i64 %local, 256
  call void @llvm.assume(i1 %inside)
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %store ]
  %at = getelementptr inbounds i64, ptr %array, i64 %k
  %half = load i64, ptr %at
  %place = add i64 %local, %half
  %ok = icmp ult i64 %place, 512
  br i1 %ok, label %store, label %bad
store:
  %there = getelementptr inbounds i32, ptr %from, i64 %place
  %value = load i32, ptr %there
  %to = getelementptr inbounds i32, ptr %tile, i64 %place
  store i32 %value, ptr %to
  %k.next = add nuw nsw i64 %k, 1
  %more = icmp ult i64 %k.next, 2
  br i1 %more, label %loop, label %done
bad:
  call void @panics()
  unreachable
done:
  ret i32 0
}
declare void @panics() cold noreturn
declare void @llvm.assume(i1)
; Sixty-four words are too many for a processor.
define i32 @words(ptr %from) {
begin:
  %words = alloca [64 x i32]
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %there = getelementptr inbounds i32, ptr %from, i64 %k
  %value = load i32, ptr %there
  %to = getelementptr inbounds i32, ptr %words, i64 %k
  store i32 %value, ptr %to
  %k.next = add nuw nsw i64 %k, 1
  %more = icmp ult i64 %k.next, 64
  br i1 %more, label %loop, label %done
done:
  %first = load i32, ptr %words
  ret i32 %first
}
; CHECK: @halves
; CHECK-NOT: alloca
; CHECK-NOT: br i1 %more
; CHECK: store i32
; CHECK: store i32
; CHECK: @words
; CHECK: alloca [64 x i32]
; CHECK: br i1 %more, label %loop, label %done
