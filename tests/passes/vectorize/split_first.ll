; What one work-item does for all others: those before it and behind it are in no loop.
; SPEC lanes: 256 8
define void @kernel(ptr %at, ptr %to, i64 %first, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %local = sub nuw nsw i64 %x, %first
  %is = icmp eq i64 %local, 0
  br i1 %is, label %write, label %next
write:
  %v = load i32, ptr %at, align 4
  %p = getelementptr i32, ptr %to, i64 %x
  store i32 %v, ptr %p, align 4
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
; CHECK: store i32
; CHECK-NOT: masked
; CHECK: kernel: vectorised: 8 lanes
