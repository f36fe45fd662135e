; SPEC kernel: kernel entry 0 1
; Each dimension has its parameter; what is between names, flags and attributes stays.
define void @kernel(ptr noalias readonly align 4 %out, i64 %n) nounwind {
start:
  %x = call i64 @__schism_global_offset_x()
  %y = call i64 @__schism_global_offset_y()
  %z = call i64 @__schism_global_offset_z()
  %xy = add nuw nsw i64 %x, %y
  %xyz = add i64 %xy, %z
  %more = icmp ult i64 %xyz, %n
  br i1 %more, label %body, label %end
body:
  %at = phi i64 [ %xyz, %start ], [ %next, %body ]
  %next = add i64 %at, 1
  switch i64 %next, label %body [ i64 7, label %end ]
end:
  ret void
}
declare i64 @__schism_global_offset_x() nounwind
declare i64 @__schism_global_offset_y() nounwind
declare i64 @__schism_global_offset_z() nounwind
; CHECK: define void @kernel(ptr noalias readonly align 4 %out, i64 %n) #0 {
; CHECK-NEXT: start:
; CHECK-NEXT: %xy = add nuw nsw i64 0, 0
; CHECK-NEXT: %xyz = add i64 %xy, 0
; CHECK: define void @kernel_with_offset(ptr noalias readonly align 4 %out, i64 %n, i64 %offset.x, i64 %offset.y, i64 %offset.z) #0 {
; CHECK-NEXT: start:
; CHECK-NEXT: %xy = add nuw nsw i64 %offset.x, %offset.y
; CHECK-NEXT: %xyz = add i64 %xy, %offset.z
; CHECK-NEXT: %more = icmp ult i64 %xyz, %n
; CHECK-NEXT: br i1 %more, label %body, label %end
; CHECK: body: {{.*}} preds = %body, %start
; CHECK-NEXT: %at = phi i64 [ %xyz, %start ], [ %next, %body ]
; CHECK-NEXT: %next = add i64 %at, 1
; CHECK-NEXT: switch i64 %next, label %body [
; CHECK-NEXT: i64 7, label %end
; CHECK-NEXT: ]
; CHECK: ret void
; CHECK-NOT: __schism_global_offset
; CHECK: kernel kernel: offset-variant=kernel_with_offset
