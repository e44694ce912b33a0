"""Words that announce a person's name, by the place where they stand.

A phrase in small letters may also begin with a capital.
"""

from __future__ import annotations

INTRODUCING = """
my name(?: is|'s| was)
his name(?: is|'s| was)
her name(?: is|'s| was)
their name(?: is|'s| was)
name is
am called
is called
was called
were called
call me
calls me
named (?:him|her|them|me|it)
mein Name ist
ich hei(?:ß|ss)e
je m'appelle
mon nom est
me llamo
mi nombre es
mi chiamo
il mio nome è
ik heet
mijn naam is
meu nome é
chamo-me
jag heter
jeg he(?:dder|ter)
nazywam się
jmenuji se
"""
FIELDS = """
name
surname
username
vorname
nachname
pr[ée]nom
nom
nombre
apellidos?
cognome
naam
NAME
"""
TITLES = r"""
Mr Mrs Ms Mx Miss Dr Prof Professor Doctor Sir Madam Lady Rev Capt Sgt Lt Herrn? Frau Fr\. Hr\.
Fräulein Monsieur Madame Mademoiselle Mme Mlle M\. Señora? Sra? Srta Dra Don Doña Signora? Sig
Sig\.ra Dott Dott\.ssa Mevrouw Mevr Meneer Dhr Mw Pani? Shri Sri Smt MR MRS MS DR
"""
# Titles that are no name of anybody when they stand alone.
BARE_TITLES = "mr mrs ms mx dr prof"
GREETINGS = """
Dear Hi Hello Hey Hallo Lieber? Liebes Cher Chère Bonjour Estimad[oa] Querid[oa] Hola Car[oa]
Gentile Ciao Beste Geachte Hej Hei Drog[ia] Dragă DEAR
"""
CLOSINGS = """
regards
sincerely
cheers
thanks
thank you
best
best wishes
yours(?: truly| faithfully)?
love
Gr[üu](?:ß|ss)en?
MfG
LG
cordialement
saludos
atentamente
saluti
groeten?
hälsningar
signed(?: by)?
"""
# Words before a name of at least two words; plain words, no patterns.
ROLES = """
patient
patiente
client
customer
tenant
employee
attn
attention
c/o
contact
contact person
spoke to
spoke with
speak to
speak with
talk to
talk with
talked to
talked with
ask for
asked for
met with
author
account holder
beneficiary
recipient
sender
written by
sent by
referred by
seen by
on behalf of
in the name of
under the name
under the name of
belongs to
belong to
registered to
registered for
made out to
payable to
addressed to
signed by
signed for by
that would be
billing address
shipping address
delivery address
mailing address
kunde
kundin
partner
wife
husband
spouse
boss
colleague
neighbour
neighbor
friend
brother
sister
son
daughter
mother
father
uncle
aunt
cousin
boyfriend
girlfriend
flatmate
roommate
landlord
assistant
manager
doctor
lawyer
partner's name
wife's name
husband's name
spouse's name
boss's name
colleague's name
neighbour's name
neighbor's name
friend's name
brother's name
sister's name
son's name
daughter's name
mother's name
father's name
uncle's name
aunt's name
cousin's name
boyfriend's name
girlfriend's name
flatmate's name
roommate's name
landlord's name
assistant's name
manager's name
doctor's name
lawyer's name
"""

# What people say before they answer.
POLITE = """
yes
yea
yeah
yep
sure
ok
okay
of course
it's
it is
i am
i'm
this is
my name(?: is|'s)
here
that(?: would|'ll) be
that is
that's
(?:it )?should be
(?:it's |it is |the account is |registered |listed |booked )?under
(?:the|my|our) (?:account|order|booking|name) (?:belongs to|is for|is under|is)
hi
hello
"""

# What only people do, right after their name; plain words, no patterns.
ACTING = """
said
says
lives
lived
wrote
writes
replied
asked
told
explained
phoned
called
emailed
resides
shouted
whispered
smiled
laughed
nodded
shrugged
sighed
apologised
apologized
texted
insisted
complained
reported
had given
works at
works for
works in
works as
was born
was admitted
was discharged
was diagnosed
was seen
was hired
was married
"""

# Words that follow a cue without being a name.
NOT_NAMES = """
a about all am an and any are as at be but by can customer do dear everyone for from good have
he hello here hi how i if in is it just like madam me my name no not of ok okay on or our
please she sir so sorry still sure team thank thanks that the there they this to unknown very
we well what when where which who will with yes you your back bot support looking trying going
having calling writing alright alrighty right perfect noted great good fine okey understood
exactly correct indeed absolutely certainly definitely wonderful excellent lovely awesome cool nice
super brilliant appreciated welcome hey oh ah um hmm wow yep yeah nope nah much many also then now
today tomorrow yesterday again always never maybe perhaps probably actually really quite however
morning afternoon evening night monday tuesday wednesday thursday friday saturday sunday
let got done one two first second last next same
thx thanx ty tks pls plz lol aws
"""
