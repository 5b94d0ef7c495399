#ifndef HEXRUN_CTYPE_H
#define HEXRUN_CTYPE_H

int isalnum(int letter);
int isalpha(int letter);
int iscntrl(int letter);
int islower(int letter);
int ispunct(int letter);
int isupper(int letter);
int isdigit(int letter);
int isgraph(int letter);
int isprint(int letter);
int isspace(int letter);
int isxdigit(int letter);
int tolower(int letter);
int toupper(int letter);

#endif
