; Each operation, with orders and scopes; what is no constant becomes the strongest.
define i64 @kernel(ptr %p, i32 %n, i64 %m, float %f, i32 %order) {
  %a = call i32 @__schism_atomic_add_i32(ptr %p, i32 %n, i32 1, i32 2)
  %b = call i64 @__schism_atomic_umax_i64(ptr %p, i64 %m, i32 0, i32 3)
  %c = call float @__schism_atomic_fadd_f32(ptr %p, float %f, i32 3, i32 1)
  %d = call i32 @__schism_atomic_load_i32(ptr %p, i32 1, i32 4)
  call void @__schism_atomic_store_i64(ptr %p, i64 %m, i32 2, i32 0)
  %e = call i32 @__schism_atomic_cmpxchg_i32(ptr %p, i32 %a, i32 %n, i32 3, i32 1, i32 2)
  %g = call i32 @__schism_atomic_xchg_i32(ptr %p, i32 %e, i32 %order, i32 %order)
  call void @__schism_fence(i32 3, i32 2)
  call void @__schism_fence(i32 0, i32 2)
  %sum = add i32 %d, %g
  %long = zext i32 %sum to i64
  %result = add i64 %long, %b
  ret i64 %result
}
declare i32 @__schism_atomic_add_i32(ptr, i32, i32, i32)
declare i64 @__schism_atomic_umax_i64(ptr, i64, i32, i32)
declare float @__schism_atomic_fadd_f32(ptr, float, i32, i32)
declare i32 @__schism_atomic_load_i32(ptr, i32, i32)
declare void @__schism_atomic_store_i64(ptr, i64, i32, i32)
declare i32 @__schism_atomic_cmpxchg_i32(ptr, i32, i32, i32, i32, i32)
declare i32 @__schism_atomic_xchg_i32(ptr, i32, i32, i32)
declare void @__schism_fence(i32, i32)
; CHECK: define i64 @kernel
; CHECK-NEXT: %1 = atomicrmw add ptr %p, i32 %n syncscope("workgroup") acquire, align 4
; CHECK-NEXT: %2 = atomicrmw umax ptr %p, i64 %m syncscope("device") monotonic, align 8
; CHECK-NEXT: atomicrmw fadd ptr %p, float %f syncscope("subgroup") acq_rel, align 4
; CHECK-NEXT: %4 = load atomic i32, ptr %p syncscope("system") acquire, align 4
; CHECK-NEXT: store atomic i64 %m, ptr %p syncscope("singlethread") release, align 8
; CHECK-NEXT: cmpxchg ptr %p, i32 %1, i32 %n syncscope("workgroup") acq_rel acquire, align 4
; CHECK-NEXT: %6 = extractvalue
; CHECK-NEXT: %7 = atomicrmw xchg ptr %p, i32 %6 syncscope("system") seq_cst, align 4
; CHECK-NEXT: fence syncscope("workgroup") acq_rel
; CHECK-NEXT: %sum = add i32 %4, %7
