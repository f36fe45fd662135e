; Only the first work-items of a group do anything: the loop ends there, and nothing is masked.
; SPEC lanes: 256 8
define void @kernel(ptr %at, i64 %first, i64 %half, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %local = sub nuw nsw i64 %x, %first
  %is = icmp ult i64 %local, %half
  br i1 %is, label %add, label %next
add:
  %p = getelementptr i32, ptr %at, i64 %local
  %other = add nuw i64 %local, %half
  %q = getelementptr i32, ptr %at, i64 %other
  %v = load i32, ptr %p, align 4
  %w = load i32, ptr %q, align 4
  %root = udiv i32 %v, %w
  store i32 %root, ptr %p, align 4
  br label %next
next:
  %x.after = add nuw nsw i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: %split = add i64 %{{.*}}
; CHECK-NOT: masked
; CHECK: vector.loop:
; CHECK: load <8 x i32>
; CHECK: store <8 x i32>
; CHECK-NOT: masked
; CHECK: kernel: vectorised: 8 lanes
