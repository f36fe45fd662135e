; SPEC kernel: first entry 0 1
; SPEC kernel: second entry 0 1
; Kernels that share nothing begin at 0, each.
@A = internal constant i8 0
@B = internal constant i8 0
define void @first() {
  %a = call ptr @__schism_local_static(ptr @A, i64 100, i64 4)
  ret void
}
define void @second() {
  %b = call ptr @__schism_local_static(ptr @B, i64 300, i64 4)
  %d = call ptr @__schism_local_dynamic()
  call void @__schism_barrier()
  ret void
}
declare ptr @__schism_local_static(ptr, i64, i64)
declare ptr @__schism_local_dynamic()
declare void @__schism_barrier()
; CHECK: define void @first()
; CHECK: getelementptr inbounds i8, ptr %memory, i64 0
; CHECK: define void @second()
; CHECK: getelementptr inbounds i8, ptr %memory, i64 0
; CHECK: getelementptr inbounds i8, ptr %memory1, i64 384
; CHECK: ; kernel first: groups with 100 bytes at multiples of 16
; CHECK-NEXT: ; kernel second: groups with 384 bytes at multiples of 128
