; The borders of an image are copied: the first and the last work-item of a row are computed alone, and the
; others without masks.
; SPEC lanes: 256 8
define void @kernel(ptr noalias %from, ptr noalias %to, i64 %y, i64 %last, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %at = getelementptr inbounds float, ptr %from, i64 %x
  %is.top = icmp eq i64 %y, 0
  %is.left = icmp eq i64 %x, 0
  %first = or i1 %is.top, %is.left
  br i1 %first, label %copy, label %further
further:
  %is.bottom = icmp eq i64 %y, %last
  %is.right = icmp eq i64 %last, %x
  %ends = or i1 %is.bottom, %is.right
  br i1 %ends, label %copy, label %blur
blur:
  %left = getelementptr i8, ptr %at, i64 -4
  %right = getelementptr i8, ptr %at, i64 4
  %a = load float, ptr %left, align 4
  %b = load float, ptr %right, align 4
  %c = fadd float %a, %b
  br label %next
copy:
  %d = load float, ptr %at, align 4
  br label %next
next:
  %e = phi float [ %c, %blur ], [ %d, %copy ]
  %p = getelementptr float, ptr %to, i64 %x
  store float %e, ptr %p, align 4
  %x.after = add nuw nsw i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: part:
; CHECK: phi i64 [ %begin, %item.lr.ph ], [ 1,
; CHECK: br i1 %6, label %item.preheader, label %part.end
; CHECK: part3:
; CHECK: store float %23, ptr %24
; CHECK: br label %part3
; CHECK: store float %26, ptr %to
; CHECK: br label %part
; CHECK-NOT: masked
; CHECK: store <8 x float>
; CHECK: kernel: vectorised: 8 lanes
; CHECK-NOT: masked
