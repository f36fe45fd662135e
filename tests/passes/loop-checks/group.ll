; A loop with a barrier in each turn, and a loop inside: the group decides together. The copy's loop inside is not unrolled.
; CHECK: define ptx_kernel void @tiles
; CHECK: call i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32 0, i1
; CHECK-NEXT: br i1
; CHECK: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK: call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
; CHECK: !llvm.loop
; CHECK: ret void
define ptx_kernel void @tiles(ptr %p, ptr %q, i64 %len, i64 %first, i64 %count) {
begin:
  br label %turn
turn:
  %k = phi i64 [ 0, %begin ], [ %k.next, %next ]
  %at = add nuw i64 %first, %k
  %is.inside = icmp ult i64 %at, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %place = getelementptr float, ptr %p, i64 %at
  %x = load float, ptr %place, align 4
  store float %x, ptr %q, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %part
part:
  %i = phi i64 [ 0, %inside ], [ %i.next, %part ]
  %other = getelementptr float, ptr %q, i64 %i
  %y = load float, ptr %other, align 4
  store float %y, ptr %p, align 4
  %i.next = add i64 %i, 1
  %is.last = icmp eq i64 %i.next, 32
  br i1 %is.last, label %next, label %part
next:
  %k.next = add nuw i64 %k, 1
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %turn, label %done
done:
  ret void
panic:
  call void @__schism_panic_site.0(ptr %p)
  unreachable
}

; A loop that some may leave before they come to the barrier stays one, and so does one whose barrier some do not come to.
; CHECK: define ptx_kernel void @left
; CHECK-NOT: red.and
; CHECK: define ptx_kernel void @some
; CHECK-NOT: red.and
; CHECK: declare
define ptx_kernel void @left(ptr %p, i64 %len, i64 %count) {
begin:
  br label %turn
turn:
  %k = phi i64 [ 0, %begin ], [ %k.next, %inside ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %check, label %done
check:
  %is.inside = icmp ult i64 %k, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %place = getelementptr float, ptr %p, i64 %k
  store float 1.0, ptr %place, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %k.next = add nuw i64 %k, 1
  br label %turn
done:
  ret void
panic:
  call void @__schism_panic_site.0(ptr %p)
  unreachable
}
define ptx_kernel void @some(ptr %p, i64 %len, i64 %count, i1 %go) {
begin:
  br label %turn
turn:
  %k = phi i64 [ 0, %begin ], [ %k.next, %next ]
  %is.inside = icmp ult i64 %k, %len
  br i1 %is.inside, label %inside, label %panic
inside:
  %place = getelementptr float, ptr %p, i64 %k
  store float 1.0, ptr %place, align 4
  br i1 %go, label %wait, label %next
wait:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %next
next:
  %k.next = add nuw i64 %k, 1
  %more = icmp ult i64 %k.next, %count
  br i1 %more, label %turn, label %done
done:
  ret void
panic:
  call void @__schism_panic_site.0(ptr %p)
  unreachable
}
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @__schism_panic_site.0(ptr) cold noreturn
