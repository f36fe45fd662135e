; Stage 2's passes for the CPU: the loop is cloned without its check, and LLVM vectorises it.
target triple = "x86_64-unknown-linux-gnu"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
; CHECK: define void @kernel(
; CHECK: fmul <4 x float>
; CHECK: call void @__schism_panic(

define void @kernel(ptr %from, ptr %to, i64 %len, i64 %n) {
entry:
  %some = icmp ne i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %inside ]
  %is.inside = icmp ult i64 %k, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %from.at = getelementptr inbounds float, ptr %from, i64 %k
  %x = load float, ptr %from.at
  %y = fmul float %x, 2.0
  %to.at = getelementptr inbounds float, ptr %to, i64 %k
  store float %y, ptr %to.at
  %k.next = add nuw i64 %k, 1
  %more = icmp ult i64 %k.next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
