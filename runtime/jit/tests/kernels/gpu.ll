; What kernels may contain, one function a subject, for targets that must be asked whether they have it.

define void @atomics(ptr %p, ptr %out, i64 %v) {
start:
  %v8 = trunc i64 %v to i8
  %v16 = trunc i64 %v to i16
  %v32 = trunc i64 %v to i32
  %a = atomicrmw add ptr %p, i8 %v8 seq_cst, align 1
  %b = atomicrmw xchg ptr %p, i16 %v16 acq_rel, align 2
  %c = atomicrmw umax ptr %p, i32 %v32 monotonic, align 4
  %d = atomicrmw sub ptr %p, i64 %v release, align 8
  %e = atomicrmw nand ptr %p, i32 %v32 acquire, align 4
  %f = cmpxchg ptr %p, i8 %v8, i8 3 seq_cst monotonic, align 1
  %g = cmpxchg weak ptr %p, i64 %v, i64 %v acquire acquire, align 8
  %h = load atomic i8, ptr %p acquire, align 1
  store atomic i16 %v16, ptr %p release, align 2
  %i = load atomic i64, ptr %p seq_cst, align 8
  store atomic i64 %v, ptr %p seq_cst, align 8
  fence seq_cst
  fence acquire
  %a.64 = zext i8 %a to i64
  %b.64 = zext i16 %b to i64
  %c.64 = zext i32 %c to i64
  %e.64 = zext i32 %e to i64
  %f.8 = extractvalue { i8, i1 } %f, 0
  %f.64 = zext i8 %f.8 to i64
  %g.64 = extractvalue { i64, i1 } %g, 0
  %h.64 = zext i8 %h to i64
  %s1 = add i64 %a.64, %b.64
  %s2 = add i64 %s1, %c.64
  %s3 = add i64 %s2, %d
  %s4 = add i64 %s3, %e.64
  %s5 = add i64 %s4, %f.64
  %s6 = add i64 %s5, %g.64
  %s7 = add i64 %s6, %h.64
  %s8 = add i64 %s7, %i
  store i64 %s8, ptr %out
  ret void
}

; Atomics of a local that stays in memory.
define void @private(ptr %p, ptr %out, i64 %v) {
start:
  %locals = alloca [64 x i32], align 4
  call void @llvm.memset.p0.i64(ptr align 4 %locals, i8 0, i64 256, i1 false)
  %i = and i64 %v, 63
  %at = getelementptr inbounds i32, ptr %locals, i64 %i
  %old = atomicrmw add ptr %at, i32 5 seq_cst, align 4
  %pair = cmpxchg ptr %at, i32 5, i32 6 acq_rel acquire, align 4
  %j = and i64 %v, 31
  %other = getelementptr inbounds i32, ptr %locals, i64 %j
  %now = load atomic i32, ptr %other seq_cst, align 4
  store i32 %now, ptr %out
  ret void
}

define void @memory(ptr %p, ptr %out, i64 %n) {
start:
  %array = alloca [256 x i32], align 16
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %array, ptr align 4 %p, i64 1024, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %out, ptr align 4 %p, i64 %n, i1 false)
  call void @llvm.memset.p0.i64(ptr align 1 %p, i8 7, i64 %n, i1 false)
  %i = and i64 %n, 255
  %at = getelementptr inbounds i32, ptr %array, i64 %i
  %value = load i32, ptr %at
  store i32 %value, ptr %out
  ret void
}

define void @integers(ptr %p, ptr %out, i64 %v) {
start:
  %wide = load i128, ptr %p, align 16
  %other = zext i64 %v to i128
  %product = mul i128 %wide, %other
  %quotient = udiv i128 %product, %wide
  %rest = srem i128 %quotient, %other
  %float = sitofp i128 %rest to double
  %back = call i128 @llvm.fptosi.sat.i128.f64(double %float)
  %zeros = call i64 @llvm.ctlz.i64(i64 %v, i1 false)
  %trailing = call i64 @llvm.cttz.i64(i64 %v, i1 false)
  %ones = call i64 @llvm.ctpop.i64(i64 %v)
  %swapped = call i64 @llvm.bswap.i64(i64 %v)
  %reversed = call i64 @llvm.bitreverse.i64(i64 %v)
  %turned = call i64 @llvm.fshl.i64(i64 %v, i64 %v, i64 %zeros)
  %sum = call i64 @llvm.sadd.sat.i64(i64 %swapped, i64 %reversed)
  %less = call i64 @llvm.usub.sat.i64(i64 %sum, i64 %turned)
  %checked = call { i64, i1 } @llvm.smul.with.overflow.i64(i64 %less, i64 %ones)
  %checked.value = extractvalue { i64, i1 } %checked, 0
  %checked.over = extractvalue { i64, i1 } %checked, 1
  %over = zext i1 %checked.over to i64
  %a = add i64 %checked.value, %over
  %b = add i64 %a, %trailing
  %b.wide = sext i64 %b to i128
  %c = add i128 %b.wide, %back
  store i128 %c, ptr %out, align 16
  ret void
}

define void @floats(ptr %p, ptr %out, float %x) {
start:
  %y = load float, ptr %p
  %quotient = fdiv float %x, %y
  %root = call float @llvm.sqrt.f32(float %quotient)
  %product = fmul float %root, %y
  %sum = fadd float %product, %x
  %fused = call float @llvm.fma.f32(float %sum, float %x, float %y)
  %least = call float @llvm.minnum.f32(float %fused, float %x)
  %floor = call float @llvm.floor.f32(float %least)
  %even = call float @llvm.roundeven.f32(float %floor)
  %signed = call float @llvm.copysign.f32(float %even, float %y)
  %number = call i32 @llvm.fptosi.sat.i32.f32(float %signed)
  %double = fpext float %signed to double
  %third = fdiv double %double, 3.0
  %double.root = call double @llvm.sqrt.f64(double %third)
  %rest = frem float %x, %y
  %half = fptrunc float %rest to half
  %half.sum = fadd half %half, %half
  %half.quotient = fdiv half %half.sum, 0xH4200
  %again = fpext half %half.quotient to float
  %n = sitofp i32 %number to float
  %a = fadd float %again, %n
  %b = fpext float %a to double
  %c = fadd double %b, %double.root
  store double %c, ptr %out
  ret void
}

@one = private unnamed_addr constant [3 x i8] c"one", align 1
@three = private unnamed_addr constant [5 x i8] c"three", align 1
@names = private constant [2 x { ptr, i64 }] [{ ptr, i64 } { ptr @one, i64 3 }, { ptr, i64 } { ptr @three, i64 5 }], align 8
@functions = private constant [2 x ptr] [ptr @double, ptr @square], align 8

define internal i64 @double(i64 %x) noinline {
  %y = shl i64 %x, 1
  ret i64 %y
}

define internal i64 @square(i64 %x) noinline {
  %y = mul i64 %x, %x
  ret i64 %y
}

define void @tables(ptr %p, ptr %out, i64 %v) {
start:
  %i = and i64 %v, 1
  %name.at = getelementptr inbounds { ptr, i64 }, ptr @names, i64 %i
  %name = load ptr, ptr %name.at
  %letter = load i8, ptr %name
  %function.at = getelementptr inbounds ptr, ptr @functions, i64 %i
  %function = load ptr, ptr %function.at
  %result = call i64 %function(i64 %v)
  %letter.64 = zext i8 %letter to i64
  %sum = add i64 %result, %letter.64
  store i64 %sum, ptr %out
  ret void
}

define void @ends(ptr %p, ptr %out, i64 %v) {
start:
  %wrong = icmp eq i64 %v, 7
  br i1 %wrong, label %bad, label %good
bad:
  call void @llvm.trap()
  unreachable
good:
  store i64 %v, ptr %out
  ret void
}

define void @bytes(ptr byval([24 x i8]) align 8 %all, ptr %out, i64 %i) {
start:
  %at = getelementptr inbounds i8, ptr %all, i64 %i
  %byte = load i8, ptr %at
  store i8 %byte, ptr %out
  ret void
}

define void @large(ptr byval([6000 x i8]) align 8 %all, ptr %out, i64 %i) {
start:
  %at = getelementptr inbounds i8, ptr %all, i64 %i
  %byte = load i8, ptr %at
  store i8 %byte, ptr %out
  ret void
}

; The sum of a group, in local memory.
define void @group(ptr %p, ptr %out, i64 %n) {
start:
  %memory = call ptr @__schism_local_memory()
  %id = call i64 @__schism_local_id_x()
  %from = call i64 @__schism_global_id_x()
  %group = call i64 @__schism_group_id_x()
  %from.at = getelementptr inbounds float, ptr %p, i64 %from
  %value = load float, ptr %from.at
  %at = getelementptr inbounds float, ptr %memory, i64 %id
  store float %value, ptr %at
  call void @__schism_barrier()
  %other = xor i64 %id, 1
  %other.at = getelementptr inbounds float, ptr %memory, i64 %other
  %neighbour = load float, ptr %other.at
  %sum = fadd float %value, %neighbour
  %out.at = getelementptr inbounds float, ptr %out, i64 %group
  store float %sum, ptr %out.at
  ret void
}

; Every order, without a scope.
define void @updates(ptr %p, ptr %out, i64 %v) {
start:
  %v32 = trunc i64 %v to i32
  %a = atomicrmw add ptr %p, i32 %v32 monotonic, align 4
  %b = atomicrmw or ptr %p, i32 %a acquire, align 4
  %c = atomicrmw add ptr %p, i32 %b release, align 4
  %d = atomicrmw and ptr %p, i32 %c acq_rel, align 4
  %e = atomicrmw xor ptr %p, i32 %d seq_cst, align 4
  store i32 %e, ptr %out
  ret void
}

; Who an access is for.
define void @scopes(ptr %p, ptr %out, i64 %v) {
start:
  %v32 = trunc i64 %v to i32
  %float = bitcast i32 %v32 to float
  %a = atomicrmw add ptr %p, i32 %v32 syncscope("singlethread") monotonic, align 4
  %b = atomicrmw xchg ptr %p, i32 %a syncscope("subgroup") acquire, align 4
  %c = atomicrmw umax ptr %p, i32 %b syncscope("workgroup") acq_rel, align 4
  %d = atomicrmw fadd ptr %p, float %float syncscope("workgroup") monotonic, align 4
  %e = atomicrmw or ptr %p, i32 %c syncscope("device") monotonic, align 4
  %f = atomicrmw and ptr %p, i32 %e syncscope("system") monotonic, align 4
  %g = atomicrmw xor ptr %p, i32 %f monotonic, align 4
  %h = load atomic i32, ptr %p syncscope("system") acquire, align 4
  store atomic i32 %g, ptr %p syncscope("workgroup") release, align 4
  fence syncscope("singlethread") seq_cst
  fence syncscope("workgroup") acq_rel
  fence syncscope("system") seq_cst
  store i32 %h, ptr %out
  ret void
}

; What a sub-group does together.
define void @sub_group(ptr %p, ptr %out, i64 %n) {
start:
  %id = call i64 @__schism_local_id_x()
  %number = trunc i64 %n to i32
  %place = trunc i64 %id to i32
  %a = call i32 @__schism_shuffle(i32 %place, i32 %number)
  %b = call i32 @__schism_shuffle_xor(i32 %a, i32 16)
  call void @__schism_sub_group_barrier()
  %c = call i32 @__schism_shuffle_up(i32 %b, i32 1)
  %d = call i32 @__schism_shuffle_down(i32 %c, i32 1)
  %e = call i32 @__schism_ballot(i32 %d)
  store i32 %e, ptr %out
  ret void
}

; One number of all of a sub-group, five times.
define void @reductions(ptr %p, ptr %out, i64 %n) {
start:
  %id = call i64 @__schism_local_id_x()
  %place = trunc i64 %id to i32
  %a = call i32 @__schism_reduce_add(i32 %place)
  %b = call i32 @__schism_reduce_min(i32 %a)
  %c = call i32 @__schism_reduce_max(i32 %b)
  %d = call i32 @__schism_reduce_umin(i32 %c)
  %e = call i32 @__schism_reduce_umax(i32 %d)
  store i32 %e, ptr %out
  ret void
}

define void @clocks(ptr %p, ptr %out, i64 %n) {
start:
  %ticks = call i64 @__schism_clock()
  store volatile i64 %ticks, ptr %p
  %time = call i64 @__schism_time()
  %again = call i64 @__schism_clock()
  %taken = sub i64 %again, %ticks
  %sum = add i64 %taken, %time
  store i64 %sum, ptr %out
  ret void
}

define void @pauses(ptr %p, ptr %out, i64 %n) {
start:
  br label %look

look:
  %seen = load atomic i32, ptr %p monotonic, align 4
  %is_there = icmp ne i32 %seen, 0
  br i1 %is_there, label %done, label %wait

wait:
  call void @__schism_pause(i32 64)
  br label %look

done:
  store i64 1, ptr %out
  ret void
}

@template = private unnamed_addr constant [12 x i8] c"\05item \C0\02 ok\00", align 1
@u64 = private constant { i32, i32, ptr, i64, ptr, i64 } { i32 19, i32 1547788061, ptr null, i64 0, ptr null, i64 0 }

define void @prints(ptr %p, ptr %out, i64 %v) {
start:
  %args = alloca [2 x ptr], align 8
  %value = alloca i64, align 8
  store i64 %v, ptr %value
  store ptr %value, ptr %args
  %second = getelementptr inbounds ptr, ptr %args, i64 1
  store ptr @u64, ptr %second
  call void @__schism_print(ptr @template, ptr %args)
  ret void
}

declare ptr @__schism_local_memory() nounwind willreturn memory(none)
declare i64 @__schism_local_id_x() nounwind willreturn memory(none)
declare i64 @__schism_group_id_x() nounwind willreturn memory(none)
declare void @__schism_barrier() convergent nounwind
declare i32 @__schism_shuffle(i32, i32) convergent nounwind
declare i32 @__schism_shuffle_xor(i32, i32) convergent nounwind
declare i32 @__schism_shuffle_up(i32, i32) convergent nounwind
declare i32 @__schism_shuffle_down(i32, i32) convergent nounwind
declare i32 @__schism_ballot(i32) convergent nounwind
declare void @__schism_sub_group_barrier() convergent nounwind
declare i32 @__schism_reduce_add(i32) convergent nounwind
declare i32 @__schism_reduce_min(i32) convergent nounwind
declare i32 @__schism_reduce_max(i32) convergent nounwind
declare i32 @__schism_reduce_umin(i32) convergent nounwind
declare i32 @__schism_reduce_umax(i32) convergent nounwind
declare void @__schism_pause(i32)
declare i64 @__schism_clock()
declare i64 @__schism_time()
declare void @__schism_print(ptr, ptr) nounwind
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i128 @llvm.fptosi.sat.i128.f64(double)
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.cttz.i64(i64, i1)
declare i64 @llvm.ctpop.i64(i64)
declare i64 @llvm.bswap.i64(i64)
declare i64 @llvm.bitreverse.i64(i64)
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.sadd.sat.i64(i64, i64)
declare i64 @llvm.usub.sat.i64(i64, i64)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare float @llvm.sqrt.f32(float)
declare double @llvm.sqrt.f64(double)
declare float @llvm.fma.f32(float, float, float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.floor.f32(float)
declare float @llvm.roundeven.f32(float)
declare float @llvm.copysign.f32(float, float)
declare i32 @llvm.fptosi.sat.i32.f32(float)
declare void @llvm.trap()

; `for byte in word.to_le_bytes()`, for many words: what the array's iterator decides, the loop decides again.
define void @iterates(ptr %words, ptr %counts, i64 %n) {
start:
  %array = alloca { i64, i64, [4 x i8] }, align 8
  %end.at = getelementptr inbounds i8, ptr %array, i64 8
  %bytes = getelementptr inbounds i8, ptr %array, i64 16
  %none.at.all = icmp eq i64 %n, 0
  br i1 %none.at.all, label %done, label %words.next
words.next:
  %i = phi i64 [ 0, %start ], [ %i.after, %words.done ]
  %word.at = getelementptr inbounds i32, ptr %words, i64 %i
  %word = load i32, ptr %word.at, align 4
  store i64 0, ptr %array, align 8
  store i64 4, ptr %end.at, align 8
  store i32 %word, ptr %bytes, align 1
  br label %next
next:
  %begin = load i64, ptr %array, align 8
  %end = load i64, ptr %end.at, align 8
  %over = icmp eq i64 %begin, %end
  br i1 %over, label %none, label %some
none:
  br label %decided
some:
  %after = add nuw i64 %begin, 1
  store i64 %after, ptr %array, align 8
  %at = getelementptr inbounds i8, ptr %bytes, i64 %begin
  %byte = load i8, ptr %at, align 1
  br label %decided
decided:
  %tag = phi i8 [ 0, %none ], [ 1, %some ]
  %value = phi i8 [ undef, %none ], [ %byte, %some ]
  %is.some = trunc nuw i8 %tag to i1
  br i1 %is.some, label %count, label %words.done
count:
  %place = zext i8 %value to i64
  %counter = getelementptr inbounds i32, ptr %counts, i64 %place
  %before = atomicrmw add ptr %counter, i32 1 monotonic, align 4
  br label %next
words.done:
  %i.after = add nuw i64 %i, 1
  %words.over = icmp eq i64 %i.after, %n
  br i1 %words.over, label %done, label %words.next
done:
  ret void
}

; `for word in words { sum += word }` as slices are iterated: `next` gives null at the end, and the loop asks for it.
define void @slices(ptr nonnull %words, ptr %sum, i64 %n) {
start:
  %end = getelementptr inbounds i32, ptr %words, i64 %n
  br label %next
next:
  %at = phi ptr [ %words, %start ], [ %after, %again ]
  %total = phi i32 [ 0, %start ], [ %more, %again ]
  %over = icmp eq ptr %at, %end
  br i1 %over, label %decided, label %some
some:
  %following = getelementptr inbounds i32, ptr %at, i64 1
  br label %decided
decided:
  %after = phi ptr [ %at, %next ], [ %following, %some ]
  %found = phi ptr [ null, %next ], [ %at, %some ]
  %address = ptrtoint ptr %found to i64
  %none = icmp eq i64 %address, 0
  %tag = select i1 %none, i64 0, i64 1
  %is.some = trunc nuw i64 %tag to i1
  br i1 %is.some, label %again, label %done
again:
  %word = load i32, ptr %found, align 4
  %more = add i32 %total, %word
  br label %next
done:
  store i32 %total, ptr %sum, align 4
  ret void
}
