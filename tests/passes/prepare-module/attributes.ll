; Sanitizers, sleds, canaries and thunks are for the host.
define void @f() sanitize_address sanitize_thread sanitize_memory safestack shadowcallstack sspstrong fn_ret_thunk_extern cold "function-instrument"="xray-always" "xray-instruction-threshold"="200" "patchable-function-entry"="8" "patchable-function-prefix"="4" "instrument-function-entry-inlined"="mcount" "use-sample-profile" !kcfi_type !1 {
  ret void
}
@vtable = constant ptr @f, !type !2, !vcall_visibility !3
; CHECK: @vtable = constant ptr @f
; CHECK-NOT: !type
; CHECK: define void @f()
; CHECK-NOT: kcfi_type
; CHECK: ret void
; CHECK: attributes #0 = { cold }
; CHECK-NOT: cf-protection
; CHECK: !llvm.module.flags = !{!0, !1}
; CHECK: !"PIC Level", i32 2
; CHECK-NOT: kcfi
; CHECK: !"uwtable", i32 2
; CHECK-NOT: cf-protection
; CHECK: end of violations
!llvm.module.flags = !{!0, !4, !5, !6}
!0 = !{i32 8, !"PIC Level", i32 2}
!1 = !{i32 123}
!2 = !{i64 0, !"type"}
!3 = !{i64 2, i64 1}
!4 = !{i32 8, !"cf-protection-branch", i32 1}
!5 = !{i32 4, !"kcfi", i32 1}
!6 = !{i32 7, !"uwtable", i32 2}
