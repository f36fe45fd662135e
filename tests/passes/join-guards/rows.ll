; A part of a slice, whose begin and end are checked, and elements whose last one tells whether all were inside.
; In the other kernel something is loaded between the check and the loop.
@__schism_bailout.0 = external addrspace(3) global i32
declare float @element(i64)
declare void @use(float)
define void @row(i1 %fails, i64 %begin, i64 %end) {
entry:
  br i1 %fails, label %failed, label %second
second:
  %n = sub nuw i64 %end, %begin
  %some = icmp ne i64 %n, 0
  br i1 %some, label %loop, label %join
loop:
  %k = phi i64 [ 0, %second ], [ %next, %loop ]
  %all = call float @element(i64 %k)
  %next = add i64 %k, 1
  %goes.on = icmp ult i64 %next, %n
  br i1 %goes.on, label %loop, label %end.of.all
end.of.all:
  %inside = fcmp oeq float %all, %all
  br i1 %inside, label %twice, label %failed
twice:
  %doubled = fadd float %all, %all
  br label %join
join:
  %sum = phi float [ 0.0, %second ], [ %doubled, %twice ]
  call void @use(float %sum)
  br label %meet
failed:
  store i32 1, ptr addrspace(3) @__schism_bailout.0
  br label %meet
meet:
  ret void
}
define void @loads(i1 %fails, ptr %at) {
entry:
  br i1 %fails, label %failed, label %second
second:
  %n = load i64, ptr %at
  %some = icmp ne i64 %n, 0
  br i1 %some, label %inside, label %join
inside:
  %all = call float @element(i64 %n)
  br label %join
join:
  %sum = phi float [ 0.0, %second ], [ %all, %inside ]
  call void @use(float %sum)
  br label %meet
failed:
  store i32 1, ptr addrspace(3) @__schism_bailout.0
  br label %meet
meet:
  ret void
}
; CHECK: @row
; CHECK: %0 = sub nuw i64 %end, %begin
; CHECK-NEXT: %1 = icmp ne i64 %0, 0
; CHECK-NEXT: %2 = select i1 %fails, i1 false, i1 %1
; CHECK-NEXT: br i1 %2, label %loop, label %6
; CHECK: %4 = fadd float %all, %all
; CHECK-NEXT: %5 = xor i1 %inside, true
; CHECK-NEXT: br label %6
; CHECK: %7 = phi i1 [ %fails, %entry ], [ %5, %end.of.all ]
; CHECK-NEXT: %8 = phi float [ 0.000000e+00, %entry ], [ %4, %end.of.all ]
; CHECK-NEXT: br i1 %7, label %failed, label %join
; CHECK: @loads
; CHECK: br i1 %fails, label %failed, label %second
