; RUN: infer-alignment
; A row begins at a multiple of 64 bytes, and continues by 32: so do its elements. The second pointer begins anywhere.
define float @rows(ptr align 16 %p, ptr align 16 %q, i64 %any, i64 %count) {
begin:
  %width = and i64 %any, -16
  %row = mul i64 %count, %width
  %first = getelementptr float, ptr %p, i64 %row
  %other = getelementptr float, ptr %q, i64 %count
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %at = phi ptr [ %first, %begin ], [ %at.next, %loop ]
  %o = phi ptr [ %other, %begin ], [ %o.next, %loop ]
  %sum = phi float [ 0.0, %begin ], [ %sum.next, %loop ]
  %a = load float, ptr %at, align 4
  %at.1 = getelementptr i8, ptr %at, i64 4
  %b = load float, ptr %at.1, align 4
  %at.2 = getelementptr float, ptr %at.1, i64 1
  %c = load float, ptr %at.2, align 4
  %at.6 = getelementptr i8, ptr %at, i64 16
  %d = load float, ptr %at.6, align 4
  %before = getelementptr i8, ptr %at, i64 -16
  store float %b, ptr %before, align 4
  %e = load float, ptr %o, align 4
  %by = getelementptr float, ptr %at, i64 %k
  %f = load float, ptr %by, align 4
  %s.1 = fadd float %a, %b
  %s.2 = fadd float %c, %d
  %s.3 = fadd float %e, %f
  %s.4 = fadd float %s.1, %s.2
  %s.5 = fadd float %s.3, %s.4
  %sum.next = fadd float %sum, %s.5
  %at.next = getelementptr i8, ptr %at, i64 32
  %o.next = getelementptr i8, ptr %o, i64 32
  %k.next = add i64 %k, 1
  %is.last = icmp eq i64 %k.next, %count
  br i1 %is.last, label %end, label %loop
end:
  ret float %sum.next
}
; CHECK-LABEL: @rows(
; CHECK: %a = load float, ptr %at, align 16
; CHECK: %b = load float, ptr %at.1, align 4
; CHECK: %c = load float, ptr %at.2, align 8
; CHECK: %d = load float, ptr %at.6, align 16
; CHECK: store float %b, ptr %before, align 16
; CHECK: %e = load float, ptr %o, align 4
; CHECK: %f = load float, ptr %by, align 4

; What continues by a step that is not known, or by an odd one, stays.
define void @stays(ptr align 16 %p, i64 %step, i64 %count) {
begin:
  br label %loop
loop:
  %k = phi i64 [ 0, %begin ], [ %k.next, %loop ]
  %at = phi ptr [ %p, %begin ], [ %at.next, %loop ]
  %o = phi ptr [ %p, %begin ], [ %o.next, %loop ]
  store float 1.0, ptr %at, align 4
  store float 2.0, ptr %o, align 4
  %at.next = getelementptr i8, ptr %at, i64 %step
  %o.next = getelementptr i8, ptr %o, i64 12
  %k.next = add i64 %k, 1
  %is.last = icmp eq i64 %k.next, %count
  br i1 %is.last, label %end, label %loop
end:
  ret void
}
; CHECK-LABEL: @stays(
; CHECK: store float 1.000000e+00, ptr %at, align 4
; CHECK: store float 2.000000e+00, ptr %o, align 4
