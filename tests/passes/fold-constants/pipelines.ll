; SPEC host-memory: kernel
; A parallel iterator that nobody asked to be a kernel has the host's answers, or stays on the host.
define i1 @kernel() {
  %any = call i1 @_ZN10std_detect6detect9check_for17h0123456789abcdefE(i8 28)
  ret i1 %any
}
declare i1 @_ZN10std_detect6detect9check_for17h0123456789abcdefE(i8)
; CHECK: call i1 @_ZN10std_detect6detect9check_for
