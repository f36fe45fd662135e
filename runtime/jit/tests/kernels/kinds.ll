; Every kind of parameter, each stored to its own place.

define void @kinds(ptr %out, i8 zeroext %flag, i16 %short, i32 %int, i64 %long, i128 %wide, half %h, float %f, double %d,
                   ptr byval([24 x i8]) align 8 %bytes) {
start:
  store i8 %flag, ptr %out, align 1
  %at2 = getelementptr inbounds i8, ptr %out, i64 2
  store i16 %short, ptr %at2, align 2
  %at4 = getelementptr inbounds i8, ptr %out, i64 4
  store i32 %int, ptr %at4, align 4
  %at8 = getelementptr inbounds i8, ptr %out, i64 8
  store i64 %long, ptr %at8, align 8
  %at16 = getelementptr inbounds i8, ptr %out, i64 16
  store i128 %wide, ptr %at16, align 8
  %at32 = getelementptr inbounds i8, ptr %out, i64 32
  store half %h, ptr %at32, align 2
  %at36 = getelementptr inbounds i8, ptr %out, i64 36
  store float %f, ptr %at36, align 4
  %at40 = getelementptr inbounds i8, ptr %out, i64 40
  store double %d, ptr %at40, align 8
  %at48 = getelementptr inbounds i8, ptr %out, i64 48
  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %at48, ptr align 8 %bytes, i64 24, i1 false)
  ret void
}

; The aggregate is the work-item's own: writing to it changes neither the closure nor another work-item's.
define void @scribble(ptr %out, ptr byval([16 x i8]) align 8 %pair) {
start:
  %i = call i64 @__schism_global_id_x()
  %second = getelementptr inbounds i8, ptr %pair, i64 8
  %a = load i64, ptr %pair, align 8
  %b = add i64 %a, %i
  store i64 %b, ptr %pair, align 8
  store i64 %b, ptr %second, align 8
  %which = and i64 %i, 1
  %either = getelementptr inbounds i64, ptr %pair, i64 %which
  %value = load i64, ptr %either, align 8
  %at = getelementptr inbounds i64, ptr %out, i64 %i
  store i64 %value, ptr %at, align 8
  ret void
}

; Locals that stay in memory, since their place depends on the data. Vectorised lanes must not share them.
define void @locals(ptr %out, ptr %in) {
start:
  %table = alloca [8 x i32], align 4
  call void @llvm.memset.p0.i64(ptr align 4 %table, i8 0, i64 32, i1 false)
  %i = call i64 @__schism_global_id_x()
  %in.at = getelementptr inbounds i32, ptr %in, i64 %i
  %value = load i32, ptr %in.at, align 4
  %low = and i32 %value, 7
  %low.wide = zext i32 %low to i64
  %to = getelementptr inbounds [8 x i32], ptr %table, i64 0, i64 %low.wide
  store i32 %value, ptr %to, align 4
  %other = lshr i32 %value, 3
  %other.low = and i32 %other, 7
  %other.wide = zext i32 %other.low to i64
  %from = getelementptr inbounds [8 x i32], ptr %table, i64 0, i64 %other.wide
  %found = load i32, ptr %from, align 4
  %out.at = getelementptr inbounds i32, ptr %out, i64 %i
  store i32 %found, ptr %out.at, align 4
  ret void
}

; A histogram by atomics.
define void @histogram(ptr %bins, ptr noalias readonly %bytes) {
start:
  %i = call i64 @__schism_global_id_x()
  %at = getelementptr inbounds i8, ptr %bytes, i64 %i
  %byte = load i8, ptr %at, align 1
  %index = zext i8 %byte to i64
  %bin = getelementptr inbounds i32, ptr %bins, i64 %index
  %old = atomicrmw add ptr %bin, i32 1 monotonic, align 4
  ret void
}

@squares = private unnamed_addr constant [4 x i64] [i64 0, i64 1, i64 4, i64 9], align 8
@operations = private unnamed_addr constant [2 x ptr] [ptr @double, ptr @square], align 8
@counter = internal global i64 5, align 8

define internal i64 @double(i64 %v) {
start:
  %r = add i64 %v, %v
  ret i64 %r
}

define internal i64 @square(i64 %v) {
start:
  %r = mul i64 %v, %v
  ret i64 %r
}

; Constants, a table of functions, and a variable of the image's own.
define void @tables(ptr %out) {
start:
  %i = call i64 @__schism_global_id_x()
  %which = and i64 %i, 1
  %operation.at = getelementptr inbounds ptr, ptr @operations, i64 %which
  %operation = load ptr, ptr %operation.at, align 8
  %a = call i64 %operation(i64 %i)
  %small = and i64 %i, 3
  %square.at = getelementptr inbounds i64, ptr @squares, i64 %small
  %b = load i64, ptr %square.at, align 8
  %c = load volatile i64, ptr @counter, align 8
  %ab = add i64 %a, %b
  %abc = add i64 %ab, %c
  %at = getelementptr inbounds i64, ptr %out, i64 %i
  store i64 %abc, ptr %at, align 8
  ret void
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
