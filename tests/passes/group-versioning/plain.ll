; SPEC kernel: kernel entry 0 1
; A plane, a barrier, and a neighbour before and behind: the group's first and last work-items decide. Both copies have the barrier, and the
; second one ends in a fence, so that no common code comes after the checks.
declare i64 @llvm.spv.thread.id.i64(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent nounwind
declare void @__schism_panic(ptr, i64, ptr) cold noreturn
define void @kernel(ptr noundef %p, i64 noundef range(i64 0, 2147483648) %side, i64 noundef range(i64 0, 2147483648) %len, i64 noundef %n) {
entry:
  %x = call range(i64 0, 2147483648) i64 @llvm.spv.thread.id.i64(i32 0)
  %is.work = icmp ult i64 %x, %n
  br i1 %is.work, label %go, label %done
go:
  %y = call range(i64 0, 2147483648) i64 @llvm.spv.thread.id.i64(i32 1)
  %row = mul nuw nsw i64 %y, %side
  %at = add nuw nsw i64 %row, %x
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %before = add nsw i64 %at, -1
  %before.inside = icmp ult i64 %before, %len
  br i1 %before.inside, label %second, label %panic
second:
  %behind = add nuw nsw i64 %at, 1
  %behind.inside = icmp ult i64 %behind, %len
  br i1 %behind.inside, label %inside, label %panic
inside:
  %place = getelementptr float, ptr %p, i64 %behind
  store float 1.0, ptr %place
  br label %done
done:
  ret void
panic:
  call void @__schism_panic(ptr null, i64 %at, ptr null)
  unreachable
}
; CHECK: call i64 @llvm.spv.workgroup.size.i64(i32 0)
; CHECK: call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
; CHECK: call i64 @llvm.spv.workgroup.size.i64(i32 1)
; CHECK: br i1 %{{...}}, label %entry, label %{{...}}
; CHECK: entry:
; CHECK: br label %go
; CHECK: call void @llvm.nvvm.barrier
; CHECK: br label %second
; CHECK: br label %inside
; CHECK: store float 1.0
; CHECK: icmp ult i64 %{{...}}, %n
; CHECK: call void @llvm.nvvm.barrier
; CHECK: icmp ult i64 %{{...}}, %len
; CHECK: fence syncscope("block") acq_rel
; CHECK-NEXT: ret void
