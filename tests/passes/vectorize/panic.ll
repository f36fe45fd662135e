; A lane whose index is outside: the scalar loop takes over at the vector's first work-item, and panics.
; SPEC lanes: 256 8
declare void @schism.panic(i64) cold
define void @kernel(ptr %in, ptr %out, i64 %len, i64 %begin, i64 %end) {
start:
  br label %head
head:
  %x = phi i64 [ %begin, %start ], [ %x.after, %next ]
  %x.more = icmp ult i64 %x, %end
  br i1 %x.more, label %item, label %exit
item:
  %p = getelementptr i64, ptr %in, i64 %x
  %at = load i64, ptr %p, align 8
  %inside = icmp ult i64 %at, %len
  br i1 %inside, label %ok, label %panic
ok:
  %p.at = getelementptr i32, ptr %in, i64 %at
  %v = load i32, ptr %p.at, align 4
  %q = getelementptr i32, ptr %out, i64 %x
  store i32 %v, ptr %q, align 4
  br label %next
panic:
  call void @schism.panic(i64 %at)
  ret void
next:
  %x.after = add i64 %x, 1
  br label %head, !llvm.loop !0
exit:
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"schism.work_item_loop"}
; CHECK: item:
; CHECK-NEXT: %x{{.*}} = phi i64 {{.*}}, [ %vector.item, %vector.restart ]
; CHECK: vector.loop:
; CHECK: icmp ult <8 x i64>
; CHECK: br i1 {{.*}}, label %vector.restart, label %vector.checked
; CHECK: vector.restart:
; CHECK-NEXT: br label %item
