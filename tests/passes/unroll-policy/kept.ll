; A loop stays: whose array has an index that is read from memory, or is large; that calls something; that counts to a variable; that has a
; hint of the kernel's author.
; SPEC target: nvptx64-nvidia-cuda
declare void @other()

define i32 @bins(ptr %from) {
begin:
  %bins = alloca [8 x i32]
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.next, %loop ]
  %at = getelementptr i64, ptr %from, i64 %i
  %bin = load i64, ptr %at
  %to = getelementptr i32, ptr %bins, i64 %bin
  store i32 1, ptr %to
  %also = getelementptr i32, ptr %bins, i64 %i
  store i32 2, ptr %also
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, 8
  br i1 %i.more, label %loop, label %done
done:
  %first = load i32, ptr %bins
  ret i32 %first
}

define i32 @large(ptr %from) {
begin:
  %words = alloca [1000 x i32]
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.next, %loop ]
  %to = getelementptr i32, ptr %words, i64 %i
  store i32 1, ptr %to
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, 1000
  br i1 %i.more, label %loop, label %done
done:
  %first = load i32, ptr %words
  ret i32 %first
}

define i32 @calls() {
begin:
  %words = alloca [8 x i32]
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.next, %loop ]
  %to = getelementptr i32, ptr %words, i64 %i
  store i32 1, ptr %to
  call void @other()
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, 8
  br i1 %i.more, label %loop, label %done
done:
  %first = load i32, ptr %words
  ret i32 %first
}

define i32 @to_a_variable(i64 %n) {
begin:
  %words = alloca [8 x i32]
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.next, %loop ]
  %to = getelementptr i32, ptr %words, i64 %i
  store i32 1, ptr %to
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, %n
  br i1 %i.more, label %loop, label %done
done:
  %first = load i32, ptr %words
  ret i32 %first
}

define i32 @by_two() {
begin:
  %words = alloca [8 x i32]
  br label %loop
loop:
  %i = phi i64 [ 0, %begin ], [ %i.next, %loop ]
  %to = getelementptr i32, ptr %words, i64 %i
  store i32 1, ptr %to
  %i.next = add nuw i64 %i, 1
  %i.more = icmp ult i64 %i.next, 8
  br i1 %i.more, label %loop, label %done, !llvm.loop !0
done:
  %first = load i32, ptr %words
  ret i32 %first
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 2}
; CHECK: define i32 @bins
; CHECK: phi i64
; CHECK: define i32 @large
; CHECK: phi i64
; CHECK: define i32 @calls
; CHECK: phi i64
; CHECK: define i32 @to_a_variable
; CHECK: phi i64
; CHECK: define i32 @by_two
; CHECK: phi i64
