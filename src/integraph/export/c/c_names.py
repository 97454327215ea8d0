"""Names of functions in C: a model that is called like one of the C library, as `gamma` or `read`, gets another."""

from __future__ import annotations

import re

from integraph.program.identifiers import is_identifier

TAKEN = frozenset(  # by compilers and C libraries, besides the words that no model may be called
    """
    a64l abort accept access acct alarm aligned_alloc alloca arc4random arc4random_buf argz_add asctime asm atexit
    atof atoi atol basename bcmp bcopy bind brk bsearch bzero cabs cacos cacosh calloc carg casin casinh catan
    catanh cbrt ccos ccosh cexp chdir chmod chown chroot cimag clearenv clearerr clock clog clog10 clone conj
    copysign cpow cproj creal creat crypt csin csinh csqrt ctan ctanh ctermid ctime daemon daylight dcgettext
    dgettext difftime dirname div dprintf drand48 drem dup dup2 ecvt edata encrypt environ erand48 erfc err errno
    error etext execle execlp execv execve execvp exit exp10 exp2 explicit_bzero fabs fclose fcntl fcvt fdim fdopen
    feclearexcept fegetenv fegetexceptflag fegetround feholdexcept feof feof_unlocked feraiseexcept ferror
    ferror_unlocked fesetenv fesetexceptflag fesetround fetestexcept feupdateenv fflush fflush_unlocked ffs ffsl
    fgetc fgetc_unlocked fgetpos fgets fileno fileno_unlocked finite flock flockfile fma fmax fmemopen fmin fmod
    fmtmsg fopen fork fprintf fputc fputc_unlocked fputs fputs_unlocked fread fread_unlocked free freopen frexp
    fscanf fseek fseeko fsetpos fsync ftell ftello ftime ftrylockfile ftw funlockfile fwrite fwrite_unlocked gamma
    gcvt getc getc_unlocked getchar getchar_unlocked getcwd getdate getdelim getenv getgid getline getloadavg getopt
    getpid gets getsubopt gettext getuid getw glob gmtime hsearch hypot i386 iconv ilogb imaxabs index initstate
    insque ioctl isalnum isalpha isascii isatty isblank iscntrl isdigit isfinite isgraph isinf islower isnan
    isnormal isprint ispunct isspace isupper iswalnum iswalpha iswblank iswcntrl iswdigit iswgraph iswlower iswprint
    iswpunct iswspace iswupper iswxdigit isxdigit j0 j1 jn jrand48 kill l64a L_tmpnam labs lcong48 ldexp ldiv lfind
    lgamma link linux listen llabs lldiv llrint llround localtime logb longjmp lrand48 lrint lround lsearch lseek
    malloc mblen mbstowcs mbtowc memccpy memchr memcmp memcpy memmove mempcpy memset mkdir mkdtemp mknod mkstemp
    mkstemps mktemp mktime mmap modf mount mrand48 nearbyint nextafter nexttoward nftw nice noreturn nrand48
    offsetof on_exit open open_memstream optarg opterr optind optopt pause pclose perror pipe poll popen
    posix_memalign pow10 pread profil pselect psignal putc putc_unlocked putchar putchar_unlocked putenv puts putw
    pwrite qecvt qfcvt qgcvt qsort quick_exit quotactl rand random read readlink realloc reallocarray realpath
    reboot recv regcomp regerror regexec regfree remainder remove remque remquo rename renameat rewind rindex rint
    rmdir round roundeven rpmatch sbrk scalb scalbln scalbn scanf sched_yield seed48 select send setbuf setbuffer
    setenv setgid setjmp setkey setlinebuf setstate setuid setvbuf shutdown sigaction signal signbit signgam
    significand sigqueue sigwait sincos sleep snprintf socket splice sprintf srand srand48 srandom sscanf stat
    stderr stdin stdout stime stpcpy stpncpy strcasecmp strcat strchr strcmp strcoll strcpy strcspn strdup strerror
    strfmon strftime strlen strncasecmp strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal
    strspn strstr strtod strtof strtok strtol strtold strtoq strtoul strtouq strxfrm swab swapon symlink sync
    syscall sysconf system tdelete tee tempnam textdomain tfind tgamma times timezone tmpfile tmpnam toascii tolower
    toupper towlower towupper trunc truncate tsearch ttyname twalk typeof tzname tzset ulimit umask uname ungetc
    unix unlink unsetenv usleep utime va_arg va_end valloc vdprintf vfork vfprintf vfscanf vprintf vscanf vsnprintf
    vsprintf vsscanf warn wcscpy wcslen wcstombs wctomb y0 y1 yn
    """.split()  # noqa: SIM905  (as in `identifiers`)
)
VARIANT = re.compile(r"(.+?)(?:f|l|f(?:32|64|128)x?)")  # of a function, for another kind of numbers
SYSTEM = re.compile(r"[A-Z0-9_]+|.+_[tlr]")  # macros, types and their like


def function_name(name: str) -> str:
    """The name of the function of a model: that of the model, unless C has it already."""
    variant = VARIANT.fullmatch(name)
    stem = variant[1] if variant else name
    taken = {name, stem} & TAKEN or not is_identifier(stem) or SYSTEM.fullmatch(name)
    return f"model_{name}" if taken else name
