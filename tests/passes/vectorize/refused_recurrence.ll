; An iteration loads what the one before it has stored: the row stays in order.
; SPEC lanes: 512 16
declare void @begin(i64)
define void @kernel(ptr %rows, ptr %picture, i64 %begin, i64 %end) {
start:
  br label %item
item:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  call void @begin(i64 %x)
  %first = getelementptr { ptr, i64 }, ptr %rows, i64 %x
  %row = load ptr, ptr %first, align 8
  %second = getelementptr i8, ptr %first, i64 8
  %len = load i64, ptr %second, align 8
  %row.end = getelementptr inbounds i32, ptr %row, i64 %len
  %none = icmp eq i64 %len, 0
  br i1 %none, label %next, label %loop
loop:
  %to = phi ptr [ %row, %item ], [ %to.next, %stored ]
  %i = phi i64 [ 0, %item ], [ %i.next, %stored ]
  %description = load ptr, ptr %picture, align 8
  %at = getelementptr i8, ptr %description, i64 16
  %scale = load float, ptr %at, align 4
  %before = getelementptr inbounds i8, ptr %to, i64 -4
  %last = load i32, ptr %before, align 4
  %number = uitofp i32 %last to float
  %v = fmul float %number, %scale
  br label %inner
inner:
  %a = phi float [ %v, %loop ], [ %b, %inner ]
  %k = phi i32 [ 0, %loop ], [ %k.after, %inner ]
  %b = fmul float %a, %a
  %k.after = add i32 %k, 1
  %more = fcmp olt float %b, 4.0
  br i1 %more, label %inner, label %stored
stored:
  store i32 %k.after, ptr %to, align 4
  %to.next = getelementptr inbounds i8, ptr %to, i64 4
  %i.next = add i64 %i, 1
  %done = icmp eq ptr %to.next, %row.end
  br i1 %done, label %next, label %loop
next:
  %x.after = add i64 %x, 1
  %all = icmp eq i64 %x.after, %end
  br i1 %all, label %exit, label %item, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: %before = getelementptr
; CHECK-NOT: vector.loop
; CHECK-NOT: schism.independent
