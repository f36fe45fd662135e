; Stage 2's passes for the CPU: an iterator's `next` gives null at the end, and the loop around it asks for that. Jumps are threaded before
; that becomes a select, so the loop has one condition: its check goes, and LLVM vectorises it.
target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; CHECK: define void @kernel(
; CHECK: fmul <4 x float>
; CHECK: call void @__schism_panic(

define void @kernel(ptr noalias %from, ptr noalias %to, i64 %len, i64 %n) {
entry:
  %iter = alloca { ptr, ptr, i64 }
  %end = getelementptr inbounds float, ptr %from, i64 %len
  store ptr %from, ptr %iter
  %end.at = getelementptr inbounds i8, ptr %iter, i64 8
  store ptr %end, ptr %end.at
  %count.at = getelementptr inbounds i8, ptr %iter, i64 16
  store i64 0, ptr %count.at
  br label %loop
loop:
  %at = load ptr, ptr %iter
  %last = load ptr, ptr %end.at
  %is.end = icmp eq ptr %at, %last
  br i1 %is.end, label %none, label %some
none:
  br label %next
some:
  %after = getelementptr inbounds nuw float, ptr %at, i64 1
  store ptr %after, ptr %iter
  br label %next
next:
  %item = phi ptr [ null, %none ], [ %at, %some ]
  %is.none = icmp eq ptr %item, null
  br i1 %is.none, label %none.counted, label %some.counted
none.counted:
  br label %next.counted
some.counted:
  %k = load i64, ptr %count.at
  %k.next = add i64 %k, 1
  store i64 %k.next, ptr %count.at
  br label %next.counted
next.counted:
  %index = phi i64 [ undef, %none.counted ], [ %k, %some.counted ]
  %counted = phi ptr [ null, %none.counted ], [ %item, %some.counted ]
  %is.done = icmp eq ptr %counted, null
  br i1 %is.done, label %done, label %body
body:
  %is.inside = icmp ult i64 %index, %n
  br i1 %is.inside, label %inside, label %panic
inside:
  %x = load float, ptr %counted
  %y = fmul float %x, 2.0
  %to.at = getelementptr inbounds float, ptr %to, i64 %index
  store float %y, ptr %to.at
  br label %loop
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
