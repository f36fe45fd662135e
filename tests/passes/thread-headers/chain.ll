; The elements of one array and then those of another, by one loop whose state says where it is: afterwards there are two
; loops, and the second one does not ask for the first array.
define float @kernel(ptr nonnull %first, ptr %first.end, ptr nonnull %second, i64 %n) {
start:
  br label %next
next:
  %a = phi ptr [ %first, %start ], [ %a.after, %element ]
  %b = phi ptr [ %second, %start ], [ %b.after, %element ]
  %k = phi i64 [ 0, %start ], [ %k.next, %element ]
  %sum = phi float [ 0.0, %start ], [ %sum.next, %element ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %choose, label %done
choose:
  %k.next = add i64 %k, 1
  %is.done = icmp eq ptr %a, null
  br i1 %is.done, label %of.b, label %has.a
has.a:
  %is.empty = icmp eq ptr %a, %first.end
  br i1 %is.empty, label %of.b, label %of.a
of.a:
  %a.next = getelementptr inbounds i8, ptr %a, i64 4
  br label %element
of.b:
  %b.next = getelementptr inbounds i8, ptr %b, i64 4
  br label %element
element:
  %at = phi ptr [ %a, %of.a ], [ %b, %of.b ]
  %a.after = phi ptr [ %a.next, %of.a ], [ null, %of.b ]
  %b.after = phi ptr [ %b, %of.a ], [ %b.next, %of.b ]
  call void @llvm.experimental.noalias.scope.decl(metadata !0)
  %x = load float, ptr %at, align 4, !alias.scope !0
  %sum.next = fadd float %sum, %x
  br label %next
done:
  ret float %sum
}
declare void @llvm.experimental.noalias.scope.decl(metadata)
!0 = !{!1}
!1 = distinct !{!1, !2}
!2 = distinct !{!2}
; CHECK: next:
; CHECK-NOT: null
; CHECK: br i1 %more, label %choose, label %done
; CHECK: choose:
; CHECK: %is.empty = icmp eq ptr {{.*}}, %first.end
; CHECK: br i1 %is.empty, label %of.b, label %of.a
; CHECK: of.a:
; CHECK: load float, ptr {{.*}}, align 4, !alias.scope
; CHECK: br label %next
; CHECK: of.b:
; CHECK: load float, ptr {{.*}}, align 4
; CHECK-NOT: icmp eq ptr
; CHECK: br i1 {{.*}}, label %{{.*}}, label %done
