; An array stays in memory: whose address is stored or passed on, or comes from two blocks; that is accessed as volatile; whose accesses
; overlap; with more elements than are worth it; whose index may be outside before the address continues; whose constant indices LLVM knows.

declare void @other(ptr)

define i32 @passed(i32 %x, i1 %one) {
  %words = alloca [2 x i32]
  %index = zext i1 %one to i64
  %at = getelementptr inbounds i32, ptr %words, i64 %index
  store i32 %x, ptr %at
  call void @other(ptr %words)
  %word = load i32, ptr %at
  ret i32 %word
}
; CHECK: define i32 @passed(
; CHECK: %words = alloca [2 x i32]
; CHECK: ret i32

define i32 @from_two(i32 %x, i1 %one) {
begin:
  %words = alloca [2 x i32]
  %second = getelementptr inbounds i32, ptr %words, i64 1
  br i1 %one, label %left, label %right
left:
  br label %right
right:
  %at = phi ptr [ %words, %begin ], [ %second, %left ]
  store i32 %x, ptr %at
  %word = load i32, ptr %words
  ret i32 %word
}
; CHECK: define i32 @from_two(
; CHECK: %words = alloca [2 x i32]
; CHECK: ret i32

define i32 @volatile(i32 %x, i1 %one) {
  %words = alloca [2 x i32]
  %index = zext i1 %one to i64
  %at = getelementptr inbounds i32, ptr %words, i64 %index
  store volatile i32 %x, ptr %at
  %word = load i32, ptr %words
  ret i32 %word
}
; CHECK: define i32 @volatile(
; CHECK: %words = alloca [2 x i32]
; CHECK: ret i32

define i32 @overlap(i32 %x, i1 %one) {
  %bytes = alloca [8 x i8]
  %index = select i1 %one, i64 2, i64 0
  %at = getelementptr inbounds i8, ptr %bytes, i64 %index
  store i32 %x, ptr %at, align 1
  %word = load i32, ptr %bytes, align 1
  ret i32 %word
}
; CHECK: define i32 @overlap(
; CHECK: %bytes = alloca [8 x i8]
; CHECK: ret i32

define i32 @many(i32 %x, i64 %index) {
  %words = alloca [16 x i32]
  %at = getelementptr inbounds i32, ptr %words, i64 %index
  store i32 %x, ptr %at
  %word = load i32, ptr %words
  ret i32 %word
}
; CHECK: define i32 @many(
; CHECK: %words = alloca [16 x i32]
; CHECK: ret i32

define i32 @outside(i32 %x, i64 %index) {
  %words = alloca [2 x i32]
  store i32 %x, ptr %words
  %before = getelementptr i32, ptr %words, i64 %index
  %at = getelementptr i32, ptr %before, i64 1
  %word = load i32, ptr %at
  ret i32 %word
}
; CHECK: define i32 @outside(
; CHECK: %words = alloca [2 x i32]
; CHECK: ret i32

; Eight elements of which one is written in a loop that does nothing else.
define void @bins(ptr %from, ptr %to, i64 %count) {
begin:
  %words = alloca [8 x i32]
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %bin.at = getelementptr i64, ptr %from, i64 %k
  %bin = load i64, ptr %bin.at
  %at = getelementptr inbounds i32, ptr %words, i64 %bin
  %old = load i32, ptr %at
  %new = add i32 %old, 1
  store i32 %new, ptr %at
  %k.next = add i64 %k, 1
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %loop, label %done
done:
  %word = load i32, ptr %words
  store i32 %word, ptr %to
  ret void
}
; CHECK: define void @bins(
; CHECK: %words = alloca [8 x i32]
; CHECK: ret void
