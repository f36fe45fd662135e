; No loop is divided.
declare i64 @llvm.umin.i64(i64, i64)

; Values are clamped, but no index is.
define void @values(ptr noalias %to, i64 %last, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
  %most = call i64 @llvm.umin.i64(i64 %last, i64 %x)
  %r = getelementptr i64, ptr %to, i64 %x
  store i64 %most, ptr %r, align 4
  %x.after = add nuw nsw i64 %x, 1
  %x.more = icmp ult i64 %x.after, %end
  br i1 %x.more, label %item, label %exit, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}

; BLESS: the output, line by line
; CHECK: ; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
; CHECK-NEXT: declare i64 @llvm.umin.i64(i64, i64) #0
; CHECK-EMPTY:
; CHECK-NEXT: define void @values(ptr noalias %to, i64 %last, i64 %begin, i64 %end) {
; CHECK-NEXT: start:
; CHECK-NEXT: br label %item
; CHECK-EMPTY:
; CHECK-NEXT: item: ; preds = %item, %start
; CHECK-NEXT: %x = phi i64 [ %begin, %start ], [ %x.after, %item ]
; CHECK-NEXT: %most = call i64 @llvm.umin.i64(i64 %last, i64 %x)
; CHECK-NEXT: %r = getelementptr i64, ptr %to, i64 %x
; CHECK-NEXT: store i64 %most, ptr %r, align 4
; CHECK-NEXT: %x.after = add nuw nsw i64 %x, 1
; CHECK-NEXT: %x.more = icmp ult i64 %x.after, %end
; CHECK-NEXT: br i1 %x.more, label %item, label %exit, !llvm.loop !0
; CHECK-EMPTY:
; CHECK-NEXT: exit: ; preds = %item
; CHECK-NEXT: ret void
; CHECK-NEXT: }
; CHECK-EMPTY:
; CHECK-NEXT: attributes #0 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
; CHECK-EMPTY:
; CHECK-NEXT: !0 = distinct !{!0, !1}
; CHECK-NEXT: !1 = !{!"schism.work_item_loop"}
; CHECK-NEXT: end of violations
