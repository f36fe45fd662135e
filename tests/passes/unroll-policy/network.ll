; A sorting network: the outer loop is kept, and the inner one is left to LLVM.
; SPEC target: spirv64-unknown-unknown
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define void @network(ptr addrspace(3) %tile) {
entry:
  br label %size
size:
  %by = phi i32 [ 2, %entry ], [ %by.next, %next ]
  br label %step
step:
  %distance = phi i32 [ %by, %size ], [ %distance.next, %step ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store volatile i32 %distance, ptr addrspace(3) %tile
  %distance.next = lshr i32 %distance, 1
  %more.steps = icmp ne i32 %distance.next, 0
  br i1 %more.steps, label %step, label %next
next:
  %by.next = shl i32 %by, 1
  %more.sizes = icmp ult i32 %by.next, 513
  br i1 %more.sizes, label %size, label %done
done:
  ret void
}
; One loop with barriers, and loops without.
define void @tree(ptr addrspace(3) %tile) {
entry:
  br label %level
level:
  %half = phi i32 [ 128, %entry ], [ %half.next, %level ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store volatile i32 %half, ptr addrspace(3) %tile
  %half.next = lshr i32 %half, 1
  %more = icmp ne i32 %half.next, 0
  br i1 %more, label %level, label %rows
rows:
  %row = phi i32 [ 0, %level ], [ %row.next, %row.end ]
  br label %columns
columns:
  %column = phi i32 [ 0, %rows ], [ %column.next, %columns ]
  store volatile i32 %column, ptr addrspace(3) %tile
  %column.next = add i32 %column, 1
  %more.columns = icmp ult i32 %column.next, 4
  br i1 %more.columns, label %columns, label %row.end
row.end:
  %row.next = add i32 %row, 1
  %more.rows = icmp ult i32 %row.next, 4
  br i1 %more.rows, label %rows, label %done
done:
  ret void
}
; The author's hint stays.
define void @hint(ptr addrspace(3) %tile) {
entry:
  br label %size
size:
  %by = phi i32 [ 2, %entry ], [ %by.next, %next ]
  br label %step
step:
  %distance = phi i32 [ %by, %size ], [ %distance.next, %step ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store volatile i32 %distance, ptr addrspace(3) %tile
  %distance.next = lshr i32 %distance, 1
  %more.steps = icmp ne i32 %distance.next, 0
  br i1 %more.steps, label %step, label %next
next:
  %by.next = shl i32 %by, 1
  %more.sizes = icmp ult i32 %by.next, 513
  br i1 %more.sizes, label %size, label %done, !llvm.loop !0
done:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.full"}
; CHECK: @network
; CHECK: br i1 %more.steps, label %step, label %next
; CHECK-NOT: llvm.loop
; CHECK: br i1 %more.sizes, label %size, label %done, !llvm.loop !0
; CHECK: @tree
; CHECK-NOT: llvm.loop
; CHECK: @hint
; CHECK: br i1 %more.sizes, label %size, label %done, !llvm.loop !2
; CHECK: !0 = distinct !{!0, !1}
; CHECK: !1 = !{!"llvm.loop.unroll.disable"}
; CHECK: !2 = distinct !{!2, !3}
; CHECK: !3 = !{!"llvm.loop.unroll.full"}
