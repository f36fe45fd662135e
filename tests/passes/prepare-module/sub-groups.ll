; What a sub-group does together is treated as a barrier is.
define void @kernel(i32 %value) {
  %sum = call i32 @sum(i32 %value)
  %all = call i32 @__schism_ballot(i32 %sum)
  %plain = call i64 @__schism_local_id_x()
  ret void
}
define internal i32 @sum(i32 %value) {
  %other = call i32 @__schism_shuffle_xor(i32 %value, i32 16)
  call void @__schism_sub_group_barrier()
  %sum = add i32 %value, %other
  ret i32 %sum
}
declare i32 @__schism_shuffle_xor(i32, i32)
declare i32 @__schism_ballot(i32)
declare void @__schism_sub_group_barrier()
declare i64 @__schism_local_id_x()
; CHECK: define void @kernel(i32 %value) #0
; CHECK-NEXT: call i32 @sum(i32 %value) #0
; CHECK-NEXT: call i32 @__schism_ballot(i32 %sum) #1
; CHECK-NEXT: call i64 @__schism_local_id_x()
; CHECK-NOT: #0
; CHECK: define internal i32 @sum(i32 %value) #0
; CHECK-NEXT: call i32 @__schism_shuffle_xor(i32 %value, i32 16) #1
; CHECK-NEXT: call void @__schism_sub_group_barrier() #1
; CHECK: declare i32 @__schism_shuffle_xor(i32, i32) #1
; CHECK: attributes #0 = { convergent }
; CHECK: attributes #1 = { convergent nomerge }
