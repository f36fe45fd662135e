; What a local holds at the beginning of its lifetime is undefined, and not what the iteration before has left in it: no value goes from one
; iteration to the next. A local that stays in memory is left alone.
declare void @llvm.lifetime.start.p0(ptr)
declare void @llvm.lifetime.end.p0(ptr)
declare void @takes(ptr)
define float @kernel(i1 %hits, float %distance, i64 %n) {
start:
  %best = alloca [8 x i8], align 4
  %kept = alloca [8 x i8], align 4
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %i.next, %after ]
  call void @llvm.lifetime.start.p0(ptr %best)
  call void @llvm.lifetime.start.p0(ptr %kept)
  call void @takes(ptr %kept)
  br i1 %hits, label %hit, label %after
hit:
  store float %distance, ptr %best, align 4
  br label %after
after:
  %nearest = load float, ptr %best, align 4
  call void @llvm.lifetime.end.p0(ptr %kept)
  call void @llvm.lifetime.end.p0(ptr %best)
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %n
  br i1 %more, label %loop, label %exit
exit:
  ret float %nearest
}
; CHECK: loop:
; CHECK-NOT: phi float
; CHECK-NOT: store
; CHECK: after:
; CHECK: phi float [ %distance, %hit ], [ undef, %loop ]
