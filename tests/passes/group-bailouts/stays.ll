; SPEC kernel: leaves entry 0 1
; SPEC kernel: stores entry 0 1
; SPEC kernel: loops entry 0 1
; Some work-items end in front of the barrier; others see what is stored in front of a check; a barrier in a loop.
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent nounwind
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define void @leaves(ptr addrspace(1) %p, i64 %len, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is.work = icmp ult i32 %tid, %n
  br i1 %is.work, label %go, label %done
go:
  %index = load i64, ptr addrspace(1) %p
  %is.inside = icmp ult i64 %index, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %done
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
define void @stores(ptr addrspace(1) %p, i64 %len) {
entry:
  store i64 1, ptr addrspace(1) %p
  %index = load i64, ptr addrspace(1) %p
  %is.inside = icmp ult i64 %index, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
define void @loops(ptr addrspace(1) %p, i64 %len, i64 %n) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %inside ]
  %at = getelementptr i64, ptr addrspace(1) %p, i64 %k
  %index = load i64, ptr addrspace(1) %at
  %is.inside = icmp ult i64 %index, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %k.next = add i64 %k, 1
  %goes.on = icmp ult i64 %k.next, %n
  br i1 %goes.on, label %loop, label %done
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 0, ptr null)
  unreachable
}
; CHECK-NOT: __schism_bailout
; CHECK: @loops
